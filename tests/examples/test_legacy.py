"""The scripts of 2018 run as they are and with two lines changed; `check` sees their faults."""

from __future__ import annotations

import argparse
import json
import re

import pytest

from estimator_io.cli import run as run_command
from tests.compat.children import forked
from tests.conftest import ROOT

FOLDER = ROOT / "examples" / "legacy"
# The line behind "import tensorflow.compat.v1 as tf", and the one in input_fn_for.
IMPORT = "import tensorflow.compat.v1 as tf\n"
TWO_LINES = {
    "census": (
        "    return lambda: input_fn(path, training)\n",
        '    return estimator_io.csv_input_fn(path, columns=NAMES, label="income", classes=CLASSES,'
        ' comment="|", batch_size=FLAGS.batch_size)\n',
    ),
    "drawings": (
        "    return lambda params: input_fn(files, training, params)\n",
        "    return estimator_io.image_input_fn(files, size=(SIZE, SIZE), augment="
        'lambda x, y: ({"image": tf.image.random_flip_left_right(x["image"])}, y))\n',
    ),
    "prompts": (
        "    return lambda: input_fn(files, training, batch_size)\n",
        "    return estimator_io.audio_input_fn(files, length=LENGTH, batch_size=batch_size)\n",
    ),
}
EXPECTED = {
    "census": (60, ""),
    "drawings": (30, r"[1-9]\d* exports"),
    "prompts": (30, r"59 of 59 files named"),
}


def options_of_run():
    parser = argparse.ArgumentParser()
    run_command.configure(parser)
    return parser.format_help()


WAYS = ["as it is", "two lines"]
WAYS += ["accelerated"] if "--accelerate" in options_of_run() else []
COMMAND = "import sys; from estimator_io.cli.main import main; sys.exit(main())"


def run(way, name, folder):
    path = FOLDER / f"{name}.py"
    options = ["--accelerate"] if way == "accelerated" else []
    if way == "two lines":
        old, new = TWO_LINES[name]
        text = path.read_text()
        assert text.count(IMPORT) == text.count(old) == 1
        text = text.replace(IMPORT, f"{IMPORT}import estimator_io\n").replace(old, new)
        path = folder / path.name
        path.write_text(text)
    return forked(
        "-c", COMMAND, "run", *options, path, f"--model_dir={folder / 'model'}", PYTHONHASHSEED="0"
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TWO_LINES)
def test_it_trains_and_evaluates(way, name, tmp_path):
    done = run(way, name, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    steps, words = EXPECTED[name]
    assert re.search(words, done.stdout), done.stdout
    accuracy, reached = re.findall(r"accuracy ([\d.]+) after (\d+) steps", done.stdout)[-1]
    assert int(reached) == steps
    # Better than chance, whatever the last bits of a version are.
    assert float(accuracy) > {"census": 0.6, "drawings": 0.3, "prompts": 0.3}[name]
    assert list((tmp_path / "model").glob("*.index"))


def checked(*names):
    """Looks at programs in one process, since TensorFlow takes longer to load than the looks."""
    code = """
import contextlib, io, json, sys
from estimator_io.cli.main import main
found = {}
for name in sys.argv[1:]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(["check", "--json", "--seconds", "100", "--script", name])
    found[name] = [code, json.loads(out.getvalue())["input_fns"]]
print(json.dumps(found))
"""
    done = forked("-c", code, *[f"examples/legacy/{name}.py" for name in names])
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1]).values()


def cases(report):
    assert report["failure"] == ""
    return [finding["case"] for finding in report["findings"]]


def test_check_sees_a_program_of_absl_and_one_with_a_loop():
    (first, drawings), (second, prompts) = checked("drawings", "prompts")
    assert (first, second) == (1, 1)
    # RunConfig gives the shuffle a seed, so each call to train sees the same order from its start.
    assert {*cases(drawings[0])} == {"duplicates", "restart"}
    assert cases(drawings[1]) == []
    assert [report["name"] for report in drawings] == ["train", "eval"]
    assert [report["name"] for report in prompts] == ["train", "eval", "infer"]
    assert [report["length"] for report in drawings] == ["endless", "1 batch"]
    assert drawings[0]["columns"][0]["shapes"] == [[16, 48, 48, 3]]
    assert [cases(report) for report in prompts] == [["slow map", "restart"], *[["slow map"]] * 2]
    assert prompts[0]["findings"][0]["text"].startswith("1 map calls Python")


def test_check_sees_a_program_without_tensorflow_2_behaviour():
    ((code, reports),) = checked("census")
    assert code == 1
    assert [cases(report) for report in reports] == [["restart"], []]
    assert [report["kind"] for report in reports] == ["tensors", "tensors"]
    assert [report["length"] for report in reports] == ["endless", "4 batches"]
    (labels,) = [column for column in reports[1]["columns"] if column["path"] == "labels"]
    assert sum(labels["classes"].values()) == 150


def test_the_documentation_shows_the_two_lines():
    text = plain((ROOT / "docs" / "legacy.md").read_text())
    for _, new in TWO_LINES.values():
        assert plain(new) in text, new


def plain(code):
    """Takes out what a formatter puts in."""
    return re.sub(r",(?=[)\]}])", "", re.sub(r"\s+", "", code))
