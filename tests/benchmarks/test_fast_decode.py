"""The comparison of decoders: at full size nothing differs, below it what is known by hand."""

from benchmarks import fast_decode
from tests.conftest import DRAWINGS


def test_only_smaller_pictures_differ(capsys):
    files = sorted(str(path) for path in DRAWINGS.glob("*/*.jpg"))[:3]
    fast_decode.main([*files, "--sizes", "200", "128", "50"])
    full, rounded, scaled = capsys.readouterr().out.splitlines()[2:]
    assert full == "| 200 | 0.00 | 0.00 | 0.00 | 0.00 |"
    _, mean, most, *_ = [float(cell) for cell in rounded.split("|")[1:-1]]
    assert 0 < mean < most <= 0.5  # no fraction covers 128 of 200 pixels
    _, mean, _, exact, fast = [float(cell) for cell in scaled.split("|")[1:-1]]
    assert mean > 1
    assert fast < exact  # a fraction averages
