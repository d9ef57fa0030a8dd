"""Notes of rows that cannot be made: kept beside the rows, and trusted as little as they."""

import json
import os

import numpy as np
import pytest
import tensorflow as tf

from estimator_io.store.notes import NOTES, FileNotes, Note, Notes
from estimator_io.store.skipping import is_lasting


@pytest.fixture
def generation(tmp_path):
    folder = tmp_path / "generations" / "abc"
    folder.mkdir(parents=True)
    return folder


def test_others_find_what_was_noted_once(generation):
    one = FileNotes(str(generation), writes=True)
    other = FileNotes(str(generation), writes=True)
    assert one.add(Note(3, 30, "broken", {"offset": 7}))
    assert not one.add(Note(3, 30, "broken again"))
    one.add(Note(None, 5, "lost"))
    assert not other.noted(np.arange(5)).any()
    other.look()
    assert other.noted(np.arange(5)).tolist() == [False, False, False, True, False]
    assert other.of(3) == Note(3, 30, "broken", {"offset": 7})
    assert other.lost == [Note(None, 5, "lost")]
    assert len(FileNotes(str(generation), writes=False)) == 2
    assert one.whole


def test_a_line_that_a_kill_has_cut_is_passed_over(generation):
    notes = FileNotes(str(generation), writes=True)
    notes.add(Note(1, 1, "first"))
    with open(generation / NOTES, "a") as file:
        file.write('\n{"row": 2, "whe')
    notes.add(Note(4, 4, "second"))
    found = FileNotes(str(generation), writes=False)
    assert found.noted(np.arange(6)).tolist() == [False, True, False, False, True, False]


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "3",
        '{"row": 1}',
        '{"row": "x", "where": 1, "error": "e", "fields": {}}',
        '{"row": -1, "where": 1, "error": "e", "fields": {}}',
        '{"row": 1, "where": 1, "error": "e", "fields": {"a": {}}}',
        '{"row": 1, "where": 1, "error": "e", "fields": 3}',
        "[" * 100_000,
    ],
)
def test_what_is_no_note_counts_for_nothing(generation, line):
    (generation / NOTES).write_text(line + "\n")
    assert len(FileNotes(str(generation), writes=False)) == 0


def test_notes_behind_a_link_are_neither_read_nor_written(generation, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    told = {"row": 1, "where": 1, "error": "e", "fields": {}}
    elsewhere.write_text(json.dumps(told) + "\n")
    before = elsewhere.read_text()
    os.symlink(elsewhere, generation / NOTES)
    notes = FileNotes(str(generation), writes=True)
    assert len(notes) == 0
    notes.add(Note(2, 2, "broken"))
    assert notes.noted(np.array([2])).all()  # in this process
    assert not notes.whole
    assert elsewhere.read_text() == before


def test_notes_in_memory_are_those_of_one_object():
    notes = Notes()
    notes.add(Note(0, 0, "broken"))
    assert len(Notes()) == 0
    assert notes.whole


@pytest.mark.parametrize(
    ("error", "lasting"),
    [
        (tf.errors.InvalidArgumentError(None, None, "Invalid JPEG data or crop window"), True),
        (tf.errors.DataLossError(None, None, "corrupted record"), True),
        (tf.errors.UnknownError(None, None, "ZeroDivisionError: division by zero"), True),
        (tf.errors.UnknownError(None, None, "UnidentifiedImageError: cannot identify"), True),
        (tf.errors.UnknownError(None, None, "OSError: [Errno 5] Input/output error"), False),
        (tf.errors.UnknownError(None, None, "ConnectionResetError: by peer"), False),
        (tf.errors.NotFoundError(None, None, "No such file"), False),
        (tf.errors.UnavailableError(None, None, "the network"), False),
        (tf.errors.ResourceExhaustedError(None, None, "memory"), False),
        (ValueError("a value of another graph"), False),
        (None, False),
    ],
)
def test_what_may_be_of_the_moment_is_not_kept(error, lasting):
    assert is_lasting(error) is lasting
