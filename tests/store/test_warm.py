"""`estimator-io cache warm` fills a store before training."""

import sys

import pytest

from estimator_io.cli.main import main
from estimator_io.store.report import facts_of

MODULE = """
import numpy as np, estimator_io
folder = {folder!r}
fn = estimator_io.input_fn(
    np.arange(70), parse=lambda x: x * 2, cache=folder, batch_size=8, filter=lambda x: x < 9
)
plain = fn.replace(cache=None)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trainer_of_test.py").write_text(MODULE.format(folder=str(tmp_path / "c")))
    yield "trainer_of_test"
    sys.modules.pop("trainer_of_test", None)


def test_warm_makes_every_row(module, tmp_path, capsys):
    assert main(["cache", "warm", f"{module}:fn"]) == 0
    assert "70 of 70 rows are kept" in capsys.readouterr().out
    (facts,) = facts_of(str(tmp_path / "c"))
    assert (facts.rows, facts.total) == (70, 70)


@pytest.mark.parametrize(
    ("name", "told"),
    [("plain", "keeps no rows in a folder"), ("folder", "Received: str"), ("no", "has no 'no'")],
)
def test_what_cannot_be_warmed_is_told(module, capsys, name, told):
    assert main(["cache", "warm", f"{module}:{name}"]) == 2
    assert told in capsys.readouterr().err


def test_a_target_without_a_name_is_told(capsys):
    assert main(["cache", "warm", "trainer"]) == 2
    assert "MODULE:NAME" in capsys.readouterr().err
