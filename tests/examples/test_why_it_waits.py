"""The example that profiles an input function finds the stage and its line."""

from tests import forks
from tests.conftest import ROOT


def test_it_names_the_map_that_reads_and_its_line():
    done = forks.run(["examples/why_it_waits.py"])
    assert done.returncode == 0, done.stderr
    lines = (ROOT / "examples" / "why_it_waits.py").read_text().splitlines()
    at = next(n for n, line in enumerate(lines, 1) if "numpy_function(read" in line)
    assert "verdict input-bound, stage map 1" in done.stdout
    assert f"first: parallel calls at examples/why_it_waits.py:{at}" in done.stdout
