"""Adapters that carry an Estimator program to Keras model.fit."""
