"""The time line where pages and figures look for it; `sol.tree.timeline` works it out."""

from sol.tree.timeline import Span, timeline

__all__ = ["Span", "timeline"]
