"""`estimator-io lint`: exit codes, formats, standard input, fixes, explanations, no TensorFlow."""

import json
import os
import subprocess
import sys

import pytest

from estimator_io.cli import lint
from estimator_io.cli.main import main
from estimator_io.lint.page import filled
from estimator_io.lint.rule import all_rules
from tests.conftest import ROOT

HEAD = "import tensorflow as tf\n"
WRONG = HEAD + "ds = tf.data.TFRecordDataset(p).repeat().cache()\n"
CLEAN = HEAD + "ds = tf.data.TFRecordDataset(p)\n"
MENDABLE = HEAD + "ds = tf.data.TFRecordDataset(p).batch(2)\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def put(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    return put


def test_a_finding_is_one_line_and_exit_code_1(write, capsys):
    assert main(["lint", write("a.py", WRONG)]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("a.py:2:42: EIO207 [wrong] This cache stands behind an endless repeat")
    assert out.count("\n") == 1
    assert err == "1 files, 1 findings\n"


def test_nothing_found_is_exit_code_0(write, capsys):
    assert main(["lint", write("a.py", CLEAN)]) == 0
    assert capsys.readouterr().out == ""


def test_what_does_not_parse_is_exit_code_2_and_the_others_are_linted(write, capsys):
    write("a.py", "def f(:\n")
    write("b.py", WRONG)
    assert main(["lint", "."]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("b.py:2:42: EIO207")
    assert err.startswith("a.py:1:7: does not parse")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "No file is named"),
        (["a.py", "--select", "EIO9"], "no rule has this code"),
        (["a.py", "--grade", "bad"], "one of wrong, slow, style"),
        (["a.py", "--jobs", "0"], "1 or more"),
        (["--explain", "EIO999"], "no rule has this code"),
        (["a.py", "--config", "none.toml"], "cannot be read"),
    ],
)
def test_a_wrong_option_is_exit_code_2(write, capsys, options, complaint):
    write("a.py", CLEAN)
    assert main(["lint", *options]) == 2
    assert complaint in capsys.readouterr().err


def test_a_file_that_is_not_there_is_exit_code_2(write, capsys):
    assert main(["lint", "none.py"]) == 2
    assert "none.py:1:1: cannot be read" in capsys.readouterr().err


def test_options_go_before_the_settings_of_the_project(write, capsys):
    write("pyproject.toml", '[tool.estimator-io.lint]\nignore = ["EIO2"]\n')
    write("src/a.py", WRONG)
    assert main(["lint", "src"]) == 0
    assert main(["lint", "src", "--ignore", "EIO1"]) == 1
    assert main(["lint", "src", "--ignore", "EIO1", "--exclude", "src"]) == 0
    assert main(["lint", ".", "--ignore", "EIO1", "--exclude", "src"]) == 0


def test_a_named_file_that_is_excluded_is_left_out_only_when_forced(write, capsys):
    write("pyproject.toml", '[tool.estimator-io.lint]\nexclude = ["old"]\n')
    write("old/a.py", WRONG)
    write("build/b.py", WRONG)
    assert main(["lint", "old/a.py", "build/b.py"]) == 1
    assert main(["lint", "old/a.py", "build/b.py", "--force-exclude"]) == 0
    assert capsys.readouterr().err.endswith("0 files, 0 findings\n")


@pytest.mark.parametrize("arguments", [("-",), ("--explain", "EIO101")])
def test_a_reader_that_has_enough_is_no_fault(arguments):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "estimator_io.cli.main", "lint", *arguments],
        input=WRONG.encode(), stdout=write, stderr=subprocess.PIPE, cwd=ROOT, timeout=300,
    )  # fmt: skip
    os.close(write)
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


def test_json_has_an_object_for_each_finding(write, capsys):
    write("a.py", MENDABLE)
    write("b.py", "def f(:\n")
    assert main(["lint", "a.py", "b.py", "--format", "json"]) == 2
    report = json.loads(capsys.readouterr().out)
    (finding,) = report["findings"]
    place = {key: finding[key] for key in ("path", "line", "column", "code", "grade", "fix")}
    assert place == {
        "path": "a.py", "line": 2, "column": 33, "code": "EIO101", "grade": "style", "fix": "safe"
    }  # fmt: skip
    assert finding["url"] == "docs/lint.md#eio101"
    assert [error["path"] for error in report["errors"]] == ["b.py"]


def test_github_annotations_escape_what_would_end_them(write, capsys):
    assert main(["lint", write("a,b.py", WRONG), "--format", "github"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("::error file=a%2Cb.py,line=2,col=42,title=EIO207::This cache stands")


def test_sarif_names_the_rule_the_place_and_what_failed(write, capsys):
    write("a b.py", WRONG)
    write("c.py", "def f(:\n")
    assert main(["lint", "a b.py", "c.py", "--format", "sarif"]) == 2
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "EIO207"
    assert result["level"] == "error"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b.py"
    assert place["region"] == {"startLine": 2, "startColumn": 42}
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "c.py does not parse" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def run_lint(*arguments, text=""):
    return subprocess.run(
        [sys.executable, "-m", "estimator_io.cli.main", "lint", *arguments],
        input=text.encode(),
        capture_output=True,
        cwd=ROOT,
        timeout=120,
    )


def test_standard_input_is_linted_under_a_name_of_its_own():
    done = run_lint("-", "--stdin-filename", "x.py", text=WRONG)
    assert done.returncode == 1
    assert done.stdout.decode().startswith("x.py:2:42: EIO207")


def test_standard_input_that_is_fixed_goes_to_standard_output():
    pytest.importorskip("libcst")
    done = run_lint("-", "--fix", text=MENDABLE)
    assert done.returncode == 0
    assert done.stdout.decode() == MENDABLE.replace(
        "batch(2)", "batch(2).prefetch(tf.data.AUTOTUNE)"
    )


def test_a_fixed_file_keeps_its_mode_and_encoding_and_leaves_nothing_beside_it(write, tmp_path):
    pytest.importorskip("libcst")
    path = tmp_path / write("a.py", "")
    path.write_bytes(("# coding: latin-1\n# é\n" + MENDABLE).encode("latin-1"))
    path.chmod(0o755)
    assert main(["lint", "a.py", "--fix"]) == 0
    assert "é" in path.read_bytes().decode("latin-1")
    assert "prefetch(tf.data.AUTOTUNE)" in path.read_text("latin-1")
    assert path.stat().st_mode & 0o777 == 0o755
    assert [p.name for p in tmp_path.iterdir()] == ["a.py"]
    before = path.stat().st_mtime_ns
    assert main(["lint", "a.py", "--fix"]) == 0
    assert path.stat().st_mtime_ns == before


def test_a_file_that_cannot_be_written_is_reported_with_its_findings(write, monkeypatch, capsys):
    pytest.importorskip("libcst")
    write("a.py", MENDABLE)
    write("b.py", MENDABLE)

    def refuse(path, text):
        if path == "a.py":
            raise PermissionError(13, "Permission denied")
        return before(path, text)

    before = lint._write
    monkeypatch.setattr(lint, "_write", refuse)
    assert main(["lint", "a.py", "b.py", "--fix"]) == 2
    out, err = capsys.readouterr()
    assert "a.py:1:1: cannot be written: Permission denied" in err
    assert out.startswith("a.py:2:33: EIO101")


def test_without_libcst_fixing_says_what_to_install(write, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "libcst", None)
    monkeypatch.delitem(sys.modules, "estimator_io.lint.fixes", raising=False)
    assert main(["lint", write("a.py", MENDABLE), "--fix"]) == 2
    assert "pip install 'estimator-io[lint]'" in capsys.readouterr().err
    assert main(["lint", "a.py"]) == 1


def test_a_code_is_explained(capsys):
    assert main(["lint", "--explain", "eio205"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("EIO205 cache-after-random (wrong)")
    assert "Better:" in out


def test_linting_loads_neither_tensorflow_nor_libcst(write):
    code = (
        "import sys\nfrom estimator_io.cli.main import main\n"
        f"assert main(['lint', {write('a.py', WRONG)!r}]) == 1\n"
        "print(sorted({'tensorflow', 'numpy', 'libcst', 'keras'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_page_of_the_docs_is_made_from_the_rules():
    page = (ROOT / "docs" / "lint.md").read_text()
    assert page == filled(page), "run: python -m estimator_io.lint.page docs/lint.md"
    for code in all_rules():
        assert f'<a id="{code.lower()}"></a>' in page


def test_every_rule_is_one_small_file_named_after_its_code():
    folder = ROOT / "estimator_io" / "lint" / "rules"
    names = sorted(path.stem.upper() for path in folder.glob("eio*.py"))
    assert names == list(all_rules())
    for path in folder.glob("eio*.py"):
        assert len(path.read_text().splitlines()) <= 105, path


def test_pre_commit_runs_the_command_on_python_files():
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert "entry: estimator-io lint" in text
    assert "types: [python]" in text
