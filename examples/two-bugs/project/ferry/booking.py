"""The line that a passenger gets to see."""

from ferry.fares import total
from ferry.timetable import arrival


def confirmation(distance_km, departure, minutes, *, adults, children=0):
    """What was booked, what it costs and when it arrives."""
    cents = total(distance_km, adults=adults, children=children)
    return f"{adults} + {children}, {cents / 100:.2f} EUR, arrives {arrival(departure, minutes)}"
