"""Rows a second of the ready factories beside hand-written tf.data and other loaders."""
