"""The example with a dispatcher and two workers runs as it is."""

import re

from tests import forks


def test_it_trains_on_what_two_workers_prepare():
    done = forks.run(["examples/service.py"])
    assert done.returncode == 0, done.stderr
    loss, steps = re.findall(r"loss ([\d.]+) after (\d+) steps", done.stdout)[0]
    assert steps == "20"
    assert float(loss) > 0
    assert re.search(r"dispatcher localhost:\d+, workers localhost:\d+ and", done.stdout)
