"""The words of `estimator-io run`: which are its own, and which the program's."""

from __future__ import annotations

import pytest

from estimator_io.cli.run import spell_out


@pytest.mark.parametrize(
    ("words", "spelled"),
    [
        ("--accelerate --compare train.py", "--accelerate --compare=5 train.py"),
        ("--compare --processes 3 train.py", "--compare=5 --processes 3 train.py"),
        ("--processes 3 --compare train.py --x", "--processes 3 --compare=5 train.py --x"),
        ("--proc 3 --compare -m train", "--proc 3 --compare=5 -m train"),
        ("--compare 2 train.py", "--compare 2 train.py"),
        ("--compare 2 --cache c --compare", "--compare 2 --cache c --compare=5"),
        ("--compare=0.5 train.py", "--compare=0.5 train.py"),
        ("train.py --compare other", "train.py --compare other"),
        ("-m train --compare other", "-m train --compare other"),
        ("--cache --compare train.py", "--cache --compare train.py"),
    ],
)
def test_the_program_is_not_taken_for_the_seconds_of_compare(words, spelled):
    assert spell_out(words.split()) == spelled.split()
