"""Notices when a worker is stuck, from the events it reports. Watches only; stopping is the supervisor's business."""

from luna.monitor.base import Alarm, Monitor
from luna.monitor.monitors import Monitors, MonitorSettings

__all__ = ["Alarm", "Monitor", "MonitorSettings", "Monitors"]
