from ferry.timetable import arrival


def test_short_crossings_arrive_in_the_same_hour():
    assert arrival("08:10", 35) == "08:45"


def test_a_night_ferry_arrives_after_midnight():
    assert arrival("23:40", 45) == "00:25"
