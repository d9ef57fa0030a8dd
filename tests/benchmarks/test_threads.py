"""The benchmark of thread pools runs, and gives a figure for every pool."""

from benchmarks import threads


def test_a_short_run_fills_the_table():
    results = threads.measure(pairs=1, seconds=0.2)
    assert set(results) == set(threads.CASES)
    for by_pool in results.values():
        assert set(by_pool) == {str(pool) for pool in threads.POOLS}
        assert all(rate > 0 for rates in by_pool.values() for rate in rates)
    assert threads.table(results).count("\n") == 1 + len(threads.CASES)
