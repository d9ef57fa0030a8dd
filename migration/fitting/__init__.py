"""An Estimator's batches as a Keras model takes them: features by name, labels, weights."""
