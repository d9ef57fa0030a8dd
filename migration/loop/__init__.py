"""tf.estimator.train_and_evaluate over model.fit: checkpoints, evaluations, exports and events."""
