"""Child processes: for what changes the state of a process, or has to be seen from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def python(
    *arguments: str | Path, timeout: float = 240, **environment: str | None
) -> subprocess.CompletedProcess[str]:
    """Runs this interpreter with a time limit; an environment value of None unsets it."""
    values = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={key: value for key, value in values.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def facts(code: str, **environment: str | None) -> Any:
    """Runs code that fills a dict called `facts`, and returns it."""
    script = f"facts = {{}}\n{textwrap.dedent(code)}\nimport json; print(json.dumps(facts))"
    result = python("-c", script, **environment)
    assert result.returncode == 0, result.stderr[-4000:]
    return json.loads(result.stdout.splitlines()[-1])
