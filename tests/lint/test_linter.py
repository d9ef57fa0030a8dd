"""From source to findings: places, comments, settings, what does not parse, several processes."""

import pytest

from estimator_io.errors import OptionError
from estimator_io.lint import linter
from estimator_io.lint.finding import Grade
from estimator_io.lint.settings import Settings, find_settings, settings_of

HEAD = "import tensorflow as tf\n"
SLOW = HEAD + "ds = tf.data.TFRecordDataset(p).repeat().cache()\n"


def codes(text, **settings):
    report = linter.lint_text(text, "a.py", Settings(**settings))
    assert report.error == ""
    return [finding.code for finding in report.findings]


def test_a_finding_stands_at_the_name_of_the_method_in_characters():
    text = HEAD + 'ds = (tf.data.TFRecordDataset("äöü")\n      .repeat()\n      .cache())\n'
    (finding,) = linter.lint_text(text).findings
    assert (finding.line, finding.column, finding.end_line) == (4, 8, 4)
    text = HEAD + 'ds = tf.data.TFRecordDataset("äöü€").repeat().cache()\n'
    (finding,) = linter.lint_text(text).findings
    assert text.splitlines()[1][finding.column - 1 :].startswith("cache()")


@pytest.mark.parametrize(
    "comment",
    ["# noqa", "# noqa: EIO207", "#noqa:EIO101,EIO207", "# NOQA : eio207", "# x # noqa: EIO207"],
)
def test_a_comment_takes_a_finding_back(comment):
    assert codes(SLOW.rstrip() + f"  {comment}\n") == []


@pytest.mark.parametrize("comment", ["# noqa: EIO101", "# noqa: F401", "# no qa", "# quality"])
def test_another_comment_does_not(comment):
    assert codes(SLOW.rstrip() + f"  {comment}\n") == ["EIO207"]


def test_a_comment_counts_on_the_last_line_of_a_call_too():
    text = HEAD + "ds = tf.data.TFRecordDataset(p).repeat().cache(\n    'x'\n)  # noqa: EIO207\n"
    assert codes(text) == []


def test_select_and_ignore_take_beginnings_and_the_longer_one_decides():
    assert codes(SLOW, select=("EIO2",)) == ["EIO207"]
    assert codes(SLOW, select=("EIO1", "EIO3")) == []
    assert codes(SLOW, ignore=("EIO2",)) == []
    assert codes(SLOW, select=("EIO207",), ignore=("EIO2",)) == ["EIO207"]
    assert codes(SLOW, select=("EIO2",), ignore=("EIO207",)) == []


def test_the_grade_is_the_least_that_is_reported():
    text = HEAD + "ds = tf.data.TFRecordDataset(p).map(f).repeat().cache()\n"
    assert codes(text) == ["EIO102", "EIO207"]
    assert codes(text, grade=Grade.SLOW) == ["EIO207"]


def test_a_project_says_what_it_wants_in_its_pyproject(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.estimator-io.lint]\nselect = ["EIO"]\nignore = ["EIO101"]\ngrade = "slow"\n'
        'exclude = ["generated/*", "old"]\n[tool.estimator-io.lint.per-file-ignores]\n'
        '"tests/**" = ["EIO2"]\n'
    )
    for name in ("a.py", "tests/deep/b.py", "generated/c.py", "old/d.py", ".venv/e.py", "f.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SLOW)
    found, settings = find_settings(tmp_path / "tests")
    assert found == tmp_path / "pyproject.toml"
    files = list(linter.python_files([str(tmp_path)], settings))
    assert files == [str(tmp_path / "a.py"), str(tmp_path / "tests" / "deep" / "b.py")]
    first, second = linter.lint_files(files, settings)
    assert [finding.code for finding in first.findings] == ["EIO207"]
    assert second.findings == ()


@pytest.mark.parametrize(
    ("section", "complaint"),
    [
        ("selct = []", "unknown key"),
        ('select = "EIO1"', "list of strings"),
        ('ignore = ["EIO999"]', "no rule has this code"),
        ('grade = "bad"', "one of wrong, slow, style"),
        ("per-file-ignores = []", "a table of file patterns"),
        ("exclude = [1]", "list of strings"),
        ("=", "cannot be read as TOML"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, section, complaint):
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[tool.estimator-io.lint]\n{section}\n")
    with pytest.raises(OptionError, match=complaint):
        settings_of(path)


def test_a_named_file_is_read_even_where_a_walk_would_leave_it_out(tmp_path):
    path = tmp_path / "build" / "a.py"
    path.parent.mkdir()
    path.write_text(SLOW)
    assert list(linter.python_files([str(tmp_path)], Settings())) == []
    assert list(linter.python_files([str(path), str(path)], Settings())) == [str(path)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"def f(:\n", "does not parse"),
        (b"print 'two'\n", "does not parse"),
        (b"x = 1\0\n", "does not parse"),
        (b"# coding: nowhere\n", "cannot be decoded"),
        (b"x = '\xff'\n", "cannot be decoded"),
        (b"(" * 5000, "does not parse"),
    ],
)
def test_what_is_no_python_is_reported_and_the_next_file_is_read(tmp_path, content, reason):
    (tmp_path / "a.py").write_bytes(content)
    (tmp_path / "b.py").write_text(SLOW)
    first, second = linter.lint_files([str(tmp_path / "a.py"), str(tmp_path / "b.py")], Settings())
    assert reason in first.error
    assert first.findings == ()
    assert len(second.findings) == 1


def test_a_file_that_is_not_there_is_reported(tmp_path):
    report = linter.lint_file(str(tmp_path / "none.py"))
    assert "cannot be read" in report.error


def test_source_in_another_encoding_or_with_other_line_ends_is_read(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(("# coding: latin-1\n# é\n" + SLOW).replace("\n", "\r\n").encode("latin-1"))
    (finding,) = linter.lint_file(str(path)).findings
    assert finding.line == 4
    path.write_bytes(b"\xef\xbb\xbf" + SLOW.encode())
    assert len(linter.lint_file(str(path)).findings) == 1


def test_several_processes_find_what_one_finds_in_the_order_of_the_files(tmp_path):
    paths = []
    for number in range(40):
        path = tmp_path / f"{number:02}.py"
        path.write_text(HEAD + "\n" * number + SLOW)
        paths.append(str(path))
    alone = linter.lint_files(paths, Settings(), jobs=1)
    together = linter.lint_files(paths, Settings(), jobs=2)
    assert together == alone
    assert [report.findings[0].line for report in alone] == [n + 3 for n in range(40)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def f():\n    return f()\nf()",
        "def f(d):\n    return g(d)\ndef g(d):\n    return f(d.batch(2))\n"
        "f(tf.data.Dataset.range(3))",
        "ds = tf.data.Dataset.range(3)\nwhile x:\n    ds = ds.map(f)",
        "class A:\n    x = tf.data.Dataset.range(3)\n    y = x.batch(2)\nA().y.prefetch(1)",
        "ds = tf.data.Dataset.range(3)\ndel ds\nds.batch(2)",
        "lambda: (yield)",
        "async def f():\n    async with a as b, c:\n        return await tf.data.Dataset.range(3)",
        "match x:\n    case 1:\n        ds = tf.data.Dataset.range(3).batch(2)",
        "try:\n    import x\nexcept ImportError:\n    x = None\nfinally:\n"
        "    tf.data.Dataset.range(3)",
        "tf.data.Dataset.zip()\ntf.data.Dataset.map()\ntf.data.Dataset.range(*a, **b).map(**c)",
        "from . import *\nfrom .. import x\nfrom .a import b as c\nimport a.b.c as d",
        "(ds := tf.data.Dataset.range(3)).batch(2)",
        "x = [*tf.data.Dataset.range(3)]\n[a.batch(2) for a in [tf.data.Dataset.range(3)]]",
        "tf.estimator.TrainSpec()\ntf.estimator.EvalSpec(*a)\ntf.estimator.Estimator().train()",
        "@tf.function\ndef f(a, /, b, *c, d=1, **e):\n    return a.batch(b)",
        "ds = tf.data.Dataset.range(3)\n"
        + "".join(f"if x{n}:\n    ds = ds.map(f)\n" for n in range(40)),
    ],
)
def test_unusual_source_is_walked_without_a_fault(text):
    assert linter.lint_text("import tensorflow as tf\n" + text).error == ""


def test_a_fault_of_a_rule_is_told_for_its_file_alone(monkeypatch):
    def broken(*_):
        raise KeyError("x")

    monkeypatch.setattr(linter, "walk", broken)
    assert "a fault of the linter: KeyError('x')" in linter.lint_text(SLOW).error
