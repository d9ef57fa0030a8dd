"""The operations of tf.data that the linter knows, with the names of their arguments."""

from __future__ import annotations

__all__ = [
    "APPLIED",
    "BATCHES",
    "DISTINCTIVE",
    "FILE_READERS",
    "ITERATORS",
    "METHODS",
    "PARALLEL",
    "SOURCES",
    "WATCHED",
]

PARALLEL = ("num_parallel_calls", "deterministic", "name")

METHODS: dict[str, tuple[str, ...]] = {
    "apply": ("transformation_func",),
    "batch": ("batch_size", "drop_remainder", *PARALLEL),
    "bucket_by_sequence_length": (
        "element_length_func",
        "bucket_boundaries",
        "bucket_batch_sizes",
        "padded_shapes",
        "padding_values",
        "pad_to_bucket_boundary",
        "no_padding",
        "drop_remainder",
    ),
    "cache": ("filename",),
    "concatenate": ("dataset",),
    "enumerate": ("start",),
    "filter": ("predicate",),
    "flat_map": ("map_func",),
    "group_by_window": ("key_func", "reduce_func", "window_size"),
    "ignore_errors": ("log_warning",),
    "interleave": ("map_func", "cycle_length", "block_length", *PARALLEL),
    "map": ("map_func", *PARALLEL),
    "padded_batch": ("batch_size", "padded_shapes", "padding_values", "drop_remainder"),
    "prefetch": ("buffer_size",),
    "ragged_batch": ("batch_size", "drop_remainder"),
    "rebatch": ("batch_size", "drop_remainder"),
    "rejection_resample": ("class_func", "target_dist"),
    "repeat": ("count",),
    "scan": ("initial_state", "scan_func"),
    "shard": ("num_shards", "index"),
    "shuffle": ("buffer_size", "seed", "reshuffle_each_iteration"),
    "skip": ("count",),
    "snapshot": ("path",),
    "take": ("count",),
    "take_while": ("predicate",),
    "unbatch": (),
    "unique": (),
    "window": ("size", "shift", "stride", "drop_remainder"),
    "with_options": ("options",),
}
"""Methods of a Dataset that return a Dataset."""

SOURCES: dict[str, tuple[str, ...]] = {
    "from_tensor_slices": ("tensors",),
    "from_tensors": ("tensors",),
    "from_generator": ("generator", "output_types", "output_shapes", "args", "output_signature"),
    "from_sparse_tensor_slices": ("sparse_tensor",),
    "list_files": ("file_pattern", "shuffle", "seed"),
    "range": ("start", "stop", "step"),
    "random": ("seed",),
    "zip": ("datasets",),
    "choose_from_datasets": ("datasets", "choice_dataset"),
    "sample_from_datasets": ("datasets", "weights", "seed"),
}
"""Functions of tf.data.Dataset that make one."""

FILE_READERS: dict[str, tuple[str, ...]] = {
    "TFRecordDataset": ("filenames", "compression_type", "buffer_size", "num_parallel_reads"),
    "TextLineDataset": ("filenames", "compression_type", "buffer_size", "num_parallel_reads"),
    "FixedLengthRecordDataset": (
        "filenames",
        "record_bytes",
        "header_bytes",
        "footer_bytes",
        "buffer_size",
        "compression_type",
        "num_parallel_reads",
    ),
    "CsvDataset": ("filenames", "record_defaults"),
}
"""Classes that read files, record by record."""

APPLIED: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "shuffle_and_repeat": (
        ("shuffle", ("buffer_size", "count", "seed")),
        ("repeat", ("buffer_size", "count", "seed")),
    ),
    "map_and_batch": (
        (
            "map",
            (
                "map_func",
                "batch_size",
                "num_parallel_batches",
                "drop_remainder",
                "num_parallel_calls",
            ),
        ),
        (
            "batch",
            (
                "map_func",
                "batch_size",
                "num_parallel_batches",
                "drop_remainder",
                "num_parallel_calls",
            ),
        ),
    ),
    "parallel_interleave": (
        ("interleave", ("map_func", "cycle_length", "block_length", "sloppy")),
    ),
    "unbatch": (("unbatch", ()),),
    "ignore_errors": (("ignore_errors", ("log_warning",)),),
    "prefetch_to_device": (("prefetch", ("device", "buffer_size")),),
    "copy_to_device": (("copy_to_device", ("target_device",)),),
    "batch_and_drop_remainder": (("batch", ("batch_size",)),),
    "padded_batch_and_drop_remainder": (("padded_batch", ("batch_size", "padded_shapes")),),
    "dense_to_ragged_batch": (("batch", ("batch_size", "drop_remainder")),),
    "bucket_by_sequence_length": (
        ("bucket_by_sequence_length", METHODS["bucket_by_sequence_length"]),
    ),
    "group_by_window": (("group_by_window", METHODS["group_by_window"]),),
    "take_while": (("take_while", ("predicate",)),),
    "unique": (("unique", ()),),
    "scan": (("scan", ("initial_state", "scan_func")),),
    "snapshot": (("snapshot", ("path",)),),
    "assert_cardinality": (("assert_cardinality", ("expected_cardinality",)),),
    "rejection_resample": (("rejection_resample", METHODS["rejection_resample"]),),
    "enumerate_dataset": (("enumerate", ("start",)),),
}
"""What `dataset.apply` is given: each as the plain operations that it amounts to."""

BATCHES = frozenset(
    {
        "batch",
        "padded_batch",
        "ragged_batch",
        "bucket_by_sequence_length",
        "group_by_window",
        "rebatch",
    }
)
"""Operations whose elements are batches."""

ITERATORS = frozenset({"make_one_shot_iterator", "make_initializable_iterator"})

DISTINCTIVE = frozenset(
    {
        "prefetch",
        "padded_batch",
        "interleave",
        "with_options",
        "shuffle",
        "batch",
        "bucket_by_sequence_length",
        "group_by_window",
        "ragged_batch",
        *ITERATORS,
    }
)
"""Methods that make an object of unknown origin a Dataset, two of them or one with `prefetch`."""

WATCHED = frozenset(
    {
        *METHODS,
        *(SOURCES.keys() - {"range", "zip", "random"}),
        *FILE_READERS,
        *APPLIED,
        *ITERATORS,
        "Dataset",
        "TrainSpec",
        "EvalSpec",
        "train_and_evaluate",
        "numpy_input_fn",
        "pandas_input_fn",
        "make_csv_dataset",
        "make_batched_features_dataset",
        "input_fn",
        "string_input_producer",
        "shuffle_batch",
        "train",
        "evaluate",
        "predict",
    }
)
"""A function that mentions none of these, nor calls one that does, is not walked."""
