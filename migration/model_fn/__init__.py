"""A legacy model_fn as a keras.Model: the Estimator itself, driven one step at a time by Keras."""
