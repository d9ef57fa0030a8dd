"""The figures of the benchmark of the store."""

from benchmarks.store.__main__ import FILLS, PEERS, Run, summary


def test_ratios_are_taken_within_pairs_and_against_the_best_peer():
    fills = [f"filling{kind}, {fill}" for kind in ("", " photos") for fill in FILLS]
    names = ("file cache in order", "decoded TFRecords", "not filling photos", *fills)
    results = {name: [Run(100.0, 50.0), Run(200.0, 100.0)] for name in (*PEERS, *names)}
    results["torch"] = [Run(150.0, 1.0), Run(300.0, 1.0)]
    results["not filling"] = [Run(50.0, 1.0), Run(100.0, 1.0)]
    results["store"] = [Run(1500.0, 1.0), Run(3000.0, 1.0)]
    facts = summary(results, "uint8")
    assert facts["ratios"]["store / best peer (torch)"].startswith("10.00 ")
    assert facts["ratios"]["filling, background / not filling"].startswith("2.00 ")
    assert facts["store"]["MB_per_second"] == round(2250 * 128 * 128 * 3 / 1e6)
