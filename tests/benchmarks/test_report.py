"""Tables, pages and files of a benchmark."""

from __future__ import annotations

import json

import pytest

from benchmarks.report import fill_section, machine, markdown_table, spell_machine, write_json


def test_a_table_has_a_line_of_marks_below_its_header():
    assert markdown_table(["case", "ms"], [["a", "1"], ["b", "2"]]) == (
        "| case | ms |\n| --- | ---: |\n| a | 1 |\n| b | 2 |"
    )


def test_only_the_section_between_the_markers_changes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\nold\n<!-- /a -->\n<!-- b -->\nkept\n<!-- /b -->\n")
    fill_section(page, "a", "new")
    assert page.read_text() == (
        "before\n<!-- a -->\n\nnew\n\n<!-- /a -->\n<!-- b -->\nkept\n<!-- /b -->\n"
    )


@pytest.mark.parametrize("text", ["", "<!-- a -->", "<!-- /a -->"])
def test_a_page_without_both_markers_is_refused_and_kept(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(ValueError, match=r"Expected: a line <!-- a -->"):
        fill_section(page, "a", "new")
    assert page.read_text() == text


def test_the_machine_is_told_in_json_and_in_one_line():
    facts = machine()
    assert facts["cores"] >= 1
    assert "\n" not in spell_machine(facts)
    assert json.loads(json.dumps(facts)) == facts


def test_json_replaces_the_file_and_makes_its_folder(tmp_path):
    path = tmp_path / "folder" / "results.json"
    write_json(path, {"a": 1})
    write_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 2}
    assert [file.name for file in path.parent.iterdir()] == ["results.json"]
