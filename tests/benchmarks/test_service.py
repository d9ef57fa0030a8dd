"""The benchmarks of the service and the device, as far as they run without one."""

import collections
import os
import subprocess
import sys

import pytest

from benchmarks import service_faults
from tests.conftest import ROOT


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
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu_overlap"],
        capture_output=True,
        text=True,
        timeout=200,
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "no GPU"
