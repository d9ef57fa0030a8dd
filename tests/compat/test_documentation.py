from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.compat.children import ROOT

PAGE = (ROOT / "docs" / "compat.md").read_text()
NAMED = sorted(set(re.findall(r"`(test_\w+)`", PAGE)))


def test_the_table_has_a_test_in_every_row() -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| .* \| (yes|no|—) \|", line)]
    assert len(rows) > 15
    assert [row for row in rows if "`test_" not in row] == []


@pytest.mark.parametrize("name", NAMED)
def test_every_test_file_or_test_that_the_page_names_exists(name: str) -> None:
    files = list(Path(__file__).parent.glob("test_*.py"))
    assert any(file.stem == name or f"def {name}(" in file.read_text() for file in files)
