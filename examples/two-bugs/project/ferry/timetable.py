"""When a ferry arrives."""


def arrival(departure, minutes):
    """The time of day, as HH:MM, so many minutes after a departure at HH:MM."""
    hours, rest = divmod(int(departure[:2]) * 60 + int(departure[3:]) + minutes, 60)
    return f"{hours:02}:{rest:02}"
