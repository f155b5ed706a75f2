from ferry.fares import fare, total


def test_adults_pay_the_full_fare():
    assert fare(10) == 600


def test_half_a_cent_of_a_childs_fare_counts_as_a_whole_one():
    assert fare(11, child=True) == 318


def test_a_booking_costs_what_its_passengers_cost():
    assert total(11, adults=2, children=1) == 1588
