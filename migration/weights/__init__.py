"""Weights and optimizer slots of an Estimator's checkpoint in an ordinary Keras model."""
