"""What a crossing costs, in cents."""

BASE = 250
PER_KM = 35


def fare(distance_km, *, child=False):
    """The fare of one passenger. Children pay half; half a cent counts as a whole one."""
    full = BASE + PER_KM * distance_km
    return full // 2 if child else full


def total(distance_km, *, adults, children=0):
    """The fare of all passengers of a booking."""
    return adults * fare(distance_km) + children * fare(distance_km, child=True)
