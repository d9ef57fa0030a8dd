"""Single calls from many threads, made together: each gets its own answer, or its own error."""

import concurrent.futures
import threading

import numpy as np
import pytest

from estimator_io.errors import RowError, WorkerError
from estimator_io.legacy.together import MOST_ROWS, Together

ROWS = 200


def answers(together, rows, threads=24):
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return [pool.submit(together, *row) for row in rows]


class Doubling:
    """Doubles numbers, notes what came at once, and fails on 13."""

    def __init__(self):
        self.blocks = []
        self.at_once = 0
        self.most_at_once = 0
        self.lock = threading.Lock()

    def __call__(self, columns, rows):
        with self.lock:
            self.blocks.append(rows)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            (numbers,) = columns
            assert len(numbers) == rows
            if (numbers == 13).any():
                raise RowError("thirteen", int(np.flatnonzero(numbers == 13)[0]))
            threading.Event().wait(0.001)  # time for others to come
            return [2 * number for number in numbers]
        finally:
            with self.lock:
                self.at_once -= 1


def test_each_call_gets_the_answer_to_its_own_row():
    make = Doubling()
    found = answers(Together(make, leaders=3), [(np.int64(100 + at),) for at in range(ROWS)])
    assert [future.result() for future in found] == [2 * (100 + at) for at in range(ROWS)]
    assert sum(make.blocks) == ROWS
    assert max(make.blocks) <= MOST_ROWS
    assert make.most_at_once <= 3


def test_calls_that_wait_at_once_travel_together(monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    blocks = []

    def make(columns, rows):
        blocks.append(rows)
        begun.set()
        assert go_on.wait(60)
        return columns[0]

    together = Together(make, leaders=1)
    # However long a row takes on a busy machine.
    monkeypatch.setattr("estimator_io.legacy.together.MOST_SECONDS", 1e9)
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        first = pool.submit(together, np.int64(0))
        assert begun.wait(60)
        others = [pool.submit(together, np.int64(at)) for at in range(1, 9)]
        while len(together._waiting) < 8:
            threading.Event().wait(0.001)
        go_on.set()
        assert [future.result() for future in [first, *others]] == list(range(9))
    assert blocks == [1, 8]


def test_a_slow_function_gets_its_rows_one_by_one():
    def make(columns, rows):
        threading.Event().wait(0.03)
        return columns[0]

    blocks = []
    together = Together(lambda columns, rows: blocks.append(rows) or make(columns, rows), leaders=2)
    found = answers(together, [(np.int64(at),) for at in range(12)])
    assert [future.result() for future in found] == list(range(12))
    assert set(blocks) == {1}


def test_a_row_that_fails_fails_alone():
    found = answers(Together(Doubling(), leaders=2), [(np.int64(at),) for at in range(40)])
    for at, future in enumerate(found):
        if at == 13:
            with pytest.raises(RowError, match="thirteen"):
                future.result()
        else:
            assert future.result() == 2 * at


def test_rows_of_other_shapes_and_types_do_not_travel_together():
    def make(columns, rows):
        (column,) = columns
        assert len(column) == rows
        return [(value.shape, value.dtype) if rows else None for value in column]

    rows = [(np.zeros(at % 3, np.int64 if at % 2 else np.float32),) for at in range(60)]
    found = answers(Together(make, leaders=2), rows)
    assert [future.result() for future in found] == [(row.shape, row.dtype) for (row,) in rows]


def test_texts_keep_zeros_at_their_end():
    together = Together(lambda columns, rows: list(columns[0]), leaders=1)
    assert together(b"a\0") == b"a\0"


def test_an_end_of_the_workers_reaches_every_call():
    def make(columns, rows):
        raise WorkerError("they were stopped")

    for future in answers(Together(make, leaders=2), [(np.int64(at),) for at in range(30)]):
        with pytest.raises(WorkerError, match="stopped"):
            future.result()


def test_a_function_of_nothing_is_called():
    assert Together(lambda columns, rows: [len(columns)] * rows, leaders=1)() == 0
