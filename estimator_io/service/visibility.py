"""Whether the workers of a service can read the files that this process found."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import ServiceError

__all__ = ["require_visible_files"]

# Files that each worker is asked for: enough to tell a folder that it does not have.
SAMPLE = 16
_WILDCARDS = frozenset("*?[]\\")


def require_visible_files(
    target: str, files: Sequence[str], workers: Sequence[str], timeout: float
) -> None:
    """Asks every worker whether it sees a sample of `files`.

    Raises:
      ServiceError: one of them does not see a file, or none answers in `timeout` seconds.
    """
    asked = _sample(files)
    if not asked:
        return
    try:
        missing = _missing(target, asked, timeout)
    except tf.errors.DeadlineExceededError as error:
        raise ServiceError(
            f"The workers {', '.join(workers)} of the service at {target} do not answer after"
            f" {timeout:g} seconds. Check that this host reaches their addresses, which they were"
            " given by estimator-io serve worker --host."
        ) from error
    if missing:
        relative = "" if missing[0].startswith("/") else " The path is relative: give it in full."
        raise ServiceError(
            f"A worker of the service at {target} cannot see {missing[0]!r} ({len(missing)} of"
            f" {len(asked)} that were asked for are missing somewhere). Put the files"
            " on a file system that every worker mounts at the same path, or give addresses such as"
            f" gs://… or s3://….{relative}"
        )


def _sample(files: Sequence[str]) -> list[str]:
    plain = [file for file in files if "://" not in file and not _WILDCARDS & set(file)]
    return plain[:: max(1, -(-len(plain) // SAMPLE))]


def _missing(target: str, asked: list[str], timeout: float) -> list[str]:
    service = tf.data.experimental.service
    v1: Any = tf.compat.v1

    def absent(path: Any) -> Any:
        return tf.equal(tf.size(tf.io.matching_files(path)), 0)

    with tf.Graph().as_default(), warnings.catch_warnings():
        # TensorFlow reads the options of a Dataset in a graph, and warns that one should not.
        warnings.simplefilter("ignore", UserWarning)
        dataset: Any = tf.data.Dataset.from_tensor_slices(asked).filter(absent)
        dataset = dataset.apply(
            service.distribute(service.ShardingPolicy.OFF, target, compression=None)
        )
        element = v1.data.make_one_shot_iterator(dataset).get_next()
        config = v1.ConfigProto(device_count={"GPU": 0}, operation_timeout_in_ms=int(timeout * 1e3))
        found: list[str] = []
        with v1.Session(config=config) as session:
            try:
                while True:
                    found.append(session.run(element).decode())
            except tf.errors.OutOfRangeError:
                return found
