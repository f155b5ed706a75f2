from ferry.booking import confirmation


def test_a_family_on_the_night_ferry_sees_price_and_arrival():
    line = confirmation(11, "23:40", 45, adults=2, children=1)
    assert line == "2 + 1, 15.88 EUR, arrives 00:25"
