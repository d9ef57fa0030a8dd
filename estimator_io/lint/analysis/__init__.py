"""What a program does with tf.data, found by walking its syntax tree; nothing is run."""
