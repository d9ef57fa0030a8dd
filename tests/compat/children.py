"""Child processes: for what changes the state of a process, or has to be seen from outside.

`python` and `facts` start an interpreter, for what a test says about imports; `forked` and
`forked_facts` fork from a process that has TensorFlow loaded, for everything else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from tests import forks

ROOT = Path(__file__).resolve().parents[2]


def python(
    *arguments: str | Path, timeout: float = 240, **environment: str | None
) -> subprocess.CompletedProcess[str]:
    """Runs this interpreter with a time limit; an environment value of None unsets it."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=_variables(environment),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def forked(
    *arguments: str | Path, timeout: float = 280, **environment: str | None
) -> subprocess.CompletedProcess[str]:
    """The same in a process that has TensorFlow loaded."""
    return forks.run(arguments, env=_variables(environment), cwd=os.getcwd(), timeout=timeout)


def _variables(changed: dict[str, str | None]) -> dict[str, str]:
    values = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", **changed}
    return {key: value for key, value in values.items() if value is not None}


def facts(code: str, **environment: str | None) -> Any:
    """Runs code that fills a dict called `facts`, and returns it."""
    return _facts_of(python("-c", _script(code), **environment))


def forked_facts(code: str) -> Any:
    """The same in a process that has TensorFlow loaded."""
    return _facts_of(forked("-c", _script(code)))


def _script(code: str) -> str:
    return f"facts = {{}}\n{textwrap.dedent(code)}\nimport json; print(json.dumps(facts))"


def _facts_of(result: subprocess.CompletedProcess[str]) -> Any:
    assert result.returncode == 0, result.stderr[-4000:]
    return json.loads(result.stdout.splitlines()[-1])
