"""`estimator-io demo`: a slow script and its fast twin on real recordings, measured."""

from __future__ import annotations

import argparse
from pathlib import Path

from estimator_io.demo.settings import DATA, OUTPUT, STEPS, Settings, default_data

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the demo."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help=f"folder with one folder of WAV files for each language (default: {DATA})",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        default=Path(OUTPUT),
        help="folder for the picture and TensorFlow's log (default: %(default)s)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        default=STEPS,
        help="training steps of each run; odd numbers are rounded up (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")


def run(arguments: argparse.Namespace) -> int:
    """Runs the demo; returns the exit code."""
    settings = Settings(
        data=arguments.data or default_data(),
        output=arguments.output,
        steps=arguments.steps + arguments.steps % 2,
        json=arguments.json,
    )
    from estimator_io.demo.main import run_demo

    run_demo(settings)
    return 0
