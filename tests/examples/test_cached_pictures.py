"""The example of the store does what it says."""

import importlib.util

from tests.conftest import ROOT


def test_the_second_run_decodes_nothing(tmp_path):
    path = ROOT / "examples" / "cached_pictures.py"
    spec = importlib.util.spec_from_file_location("cached_pictures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pictures = len(list((ROOT / "examples" / "data" / "drawings").rglob("*.jpg")))
    # Two batches may have been on their way when training ended, and are made again.
    assert pictures <= module.main(str(tmp_path), steps=3) <= pictures + 2 * 16
    assert module.main(str(tmp_path), steps=3) == 0
