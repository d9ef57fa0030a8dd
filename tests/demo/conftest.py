"""Recordings of two languages that never were: tones, a few for each."""

from __future__ import annotations

import numpy as np
import pytest

SECONDS = 0.25
RATE = 8000


@pytest.fixture
def tones(write_wav, tmp_path):
    """Returns the folder of 2 x 20 short recordings."""
    times = np.arange(int(SECONDS * RATE)) / RATE
    for language, pitch in {"high": 1200, "low": 300}.items():
        for number in range(20):
            samples = 0.4 * np.sin(2 * np.pi * (pitch + 5 * number) * times)
            write_wav(f"tones/{language}/{number}.wav", np.round(samples * 32767).astype(np.int16))
    return tmp_path / "tones"
