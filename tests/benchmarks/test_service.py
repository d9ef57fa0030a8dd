"""The benchmarks of the service and the device, as far as they run without one."""

import collections

import pytest

from benchmarks import service_faults
from tests import forks


@pytest.mark.parametrize(
    ("sharding", "rows", "kept"),
    [
        ("dynamic", dict.fromkeys(range(300), 1), True),
        ("dynamic", {**dict.fromkeys(range(300), 1), 3: 2}, False),
        ("static", dict.fromkeys(range(400), 2), True),
        ("static", dict.fromkeys(range(399), 2), False),
    ],
)
def test_promises_are_checked_on_the_rows(sharding, rows, kept):
    assert service_faults.kept(sharding, collections.Counter(rows)) == kept


def test_without_a_gpu_its_benchmark_says_so():
    done = forks.run(["-m", "benchmarks.gpu_overlap"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "no GPU"
