"""The benchmark of accelerate() measures every variant of a pipeline."""

from benchmarks import accelerate
from benchmarks.standing import standing


def test_a_pair_is_measured_and_told():
    case, names = "JPEG, one-shot iterator", (accelerate.WRITTEN, accelerate.FAST)
    hellos = {name: {"case": case, "variant": name, "seconds": 0.1} for name in names}
    with standing("benchmarks.accelerate --serve", hellos) as variants:
        runs = {name: [run()] for name, run in variants.items()}
    assert all(run["rate"] > 0 for (run,) in runs.values())
    told = accelerate.table({case: runs})
    assert case in told
    assert accelerate.WRITTEN in told
