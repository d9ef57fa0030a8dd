"""From a source and its options to a tf.data.Dataset: options, plan, stages, InputFn."""
