"""The benchmark of accelerate() measures every variant of a pipeline."""

from benchmarks import accelerate


def test_a_pair_is_measured_and_told():
    case = "JPEG, one-shot iterator"
    runs = {
        variant: [accelerate.measure(case, variant, 0.1)]
        for variant in (accelerate.WRITTEN, accelerate.FAST)
    }
    assert all(run["rate"] > 0 for (run,) in runs.values())
    told = accelerate.table({case: runs})
    assert case in told
    assert accelerate.WRITTEN in told
