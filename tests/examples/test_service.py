"""The example with a dispatcher and two workers runs as it is."""

import os
import re
import subprocess
import sys

from tests.conftest import ROOT


def test_it_trains_on_what_two_workers_prepare():
    done = subprocess.run(
        [sys.executable, "examples/service.py"],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    loss, steps = re.findall(r"loss ([\d.]+) after (\d+) steps", done.stdout)[0]
    assert steps == "20"
    assert float(loss) > 0
    assert re.search(r"dispatcher localhost:\d+, workers localhost:\d+ and", done.stdout)
