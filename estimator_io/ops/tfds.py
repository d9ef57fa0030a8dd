"""Rows of data sets that TensorFlow Datasets has prepared."""

from __future__ import annotations

import tensorflow as tf

from estimator_io.ops.example import pop_columns


@tf.autograph.experimental.do_not_convert
def prepared_row(record, *, features, decoders, label, weight, supervised):
    """Parses one serialized record as the features of its data set say.

    Args:
      record: the serialized tf.train.Example.
      features: the builder's info.features.
      decoders: TFDS decoders by feature, or None.
      label: the feature that is the label, if any.
      weight: the feature that is the weight, if any.
      supervised: (features, labels) by their names, nested as the rows shall be; None gives all.
    """
    parsed = features.deserialize_example(record, decoders=decoders)
    if supervised is not None:
        return tf.nest.map_structure(lambda name: parsed[name], supervised)
    return pop_columns(parsed, label=label, weight=weight)
