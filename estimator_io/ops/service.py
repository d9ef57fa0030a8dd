"""Orders that several workers of a tf.data service can share out, and the service itself."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

# Up to this many rows an epoch's order is one explicit permutation, drawn again for each block.
# Above, tf.random.experimental.index_shuffle computes it row by row; it is not uniform below about
# 1,000 rows.
EXPLICIT_ORDER_ROWS = 1 << 12


@tf.autograph.experimental.do_not_convert
def rows_of_block(number, *, blocks, block_rows, size, shuffle, seed, first=0, step=1):
    """Returns a Dataset of the row indices in one block of one epoch.

    Args:
      number: epoch * blocks + block in the epoch: int64 scalar.
      blocks: blocks in an epoch.
      block_rows: rows in each of them but the last.
      size: rows in an epoch.
      shuffle: whether the rows of an epoch have a random order, a function of seed and epoch.
      seed: of the orders.
      first: the index of the first row.
      step: the distance between the indices of two rows.
    """
    epoch, block = number // blocks, number % blocks
    places = tf.range(block * block_rows, tf.minimum((block + 1) * block_rows, size))
    if shuffle:
        pair = tf.stack([tf.constant(seed, tf.int64), epoch])
        whole = {"minval": None, "maxval": None, "alg": "philox"}
        if size <= EXPLICIT_ORDER_ROWS:
            keys = tf.random.stateless_uniform([size], pair, dtype=tf.int64, **whole)
            places = tf.gather(tf.cast(tf.argsort(keys, stable=True), tf.int64), places)
        else:
            key = tf.random.stateless_uniform([2], pair, dtype=tf.uint32, **whole)
            places = tf.random.experimental.index_shuffle(places, key, size - 1)
    return tf.data.Dataset.from_tensor_slices(places * step + first)


@tf.autograph.experimental.do_not_convert
def from_random_epoch(count, *, blocks):
    """Returns a Dataset of `count` block numbers, from the start of an epoch drawn at random.

    Workers that read all rows each then do so in orders of their own.
    """

    def numbers(_):
        start = tf.random.uniform([], maxval=1 << 40, dtype=tf.int64) * blocks
        return tf.data.Dataset.range(start, start + count)

    return tf.data.Dataset.range(1).flat_map(numbers)


@tf.autograph.experimental.do_not_convert
def share_of_worker(dataset):
    """Returns the elements of the worker that runs this, of those that share `dataset` out."""
    hint = tf.data.experimental.SHARD_HINT
    return dataset.shard(hint, hint)


@tf.autograph.experimental.do_not_convert
def shuffled_anew(dataset, *, buffer_size):
    """Returns `dataset` shuffled through a buffer, in another order on each worker."""
    return dataset.shuffle(buffer_size)


@tf.autograph.experimental.do_not_convert
def numbered_on_worker(dataset):
    """Returns (number, element) pairs, numbered from one drawn at random when iteration starts.

    A zipped range would be shared out among the workers, number by number.
    """

    def step(last, *element):
        parts: Any = element
        drawn = tf.random.uniform([], maxval=1 << 62, dtype=tf.int64)
        number = tf.where(last < 0, drawn, last + 1)
        return number, (number, parts if len(parts) > 1 else parts[0])

    return dataset.scan(tf.constant(-1, tf.int64), step)


@tf.autograph.experimental.do_not_convert
def in_service(
    dataset,
    *,
    service,
    sharding,
    compression,
    job_name=None,
    consumer_index=None,
    num_consumers=None,
    max_outstanding_requests=None,
):
    """Returns `dataset`, made by the workers of the tf.data service at `service`."""
    return dataset.apply(
        tf.data.experimental.service.distribute(
            getattr(tf.data.experimental.service.ShardingPolicy, sharding),
            service,
            job_name=job_name,
            consumer_index=consumer_index,
            num_consumers=num_consumers,
            max_outstanding_requests=max_outstanding_requests,
            compression=compression,
        )
    )


@tf.autograph.experimental.do_not_convert
def from_service(
    *,
    service,
    sharding,
    dataset_id,
    spec,
    job_name=None,
    consumer_index=None,
    num_consumers=None,
    max_outstanding_requests=None,
    data_transfer_protocol=None,
):
    """Returns the Dataset that was registered with a service, as one of its jobs hands it out."""
    return tf.data.experimental.service.from_dataset_id(
        getattr(tf.data.experimental.service.ShardingPolicy, sharding),
        service,
        dataset_id,
        spec,
        job_name=job_name,
        consumer_index=consumer_index,
        num_consumers=num_consumers,
        max_outstanding_requests=max_outstanding_requests,
        data_transfer_protocol=data_transfer_protocol,
    )


def live_service():
    """Returns the address of a tf.data service in this process, started when it is first asked for.

    TensorFlow lets such a service listen on every network interface, without authentication.
    """
    if not hasattr(live_service, "servers"):
        service = tf.data.experimental.service
        dispatcher = service.DispatchServer(
            service.DispatcherConfig(job_gc_timeout_ms=1 << 40)  # unused is not forgotten
        )
        address = dispatcher.target.split("://")[1]
        worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
        live_service.servers = (dispatcher, worker)  # pyright: ignore[reportFunctionMemberAccess]
    return live_service.servers[0].target  # pyright: ignore[reportFunctionMemberAccess]


@tf.autograph.experimental.do_not_convert
def in_live_service(dataset, *, job_name, max_outstanding_requests=None):
    """Returns `dataset`, made in this process by a pipeline that goes on between Datasets.

    Whoever gives the same `job_name` reads on where the one before stopped; what that one had
    already fetched is lost.
    """
    service = live_service()
    dataset_id = tf.data.experimental.service.register_dataset(
        service, dataset, compression=None, dataset_id=job_name
    )
    return from_service(
        service=service,
        sharding="OFF",
        dataset_id=dataset_id,
        spec=dataset.element_spec,
        job_name=job_name,
        max_outstanding_requests=max_outstanding_requests,
        data_transfer_protocol="local",
    )
