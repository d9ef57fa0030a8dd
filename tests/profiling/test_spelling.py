"""How figures of a report are written."""

from estimator_io.profiling.spelling import gain


def test_a_gain_has_its_interval_only_where_it_is_uncertain():
    assert gain(2.0, (2.0 / 1.1, 2.2)) == "2.0 times"
    assert gain(2.0, (1.0, 4.0)) == "2.0 times, from 1.0 to 4.0"
