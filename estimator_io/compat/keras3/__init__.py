"""Keras 3 objects handed to tensorflow-estimator, which knows Keras 2 alone.

Each submodule takes one kind of object: it is made to work with the same numbers, or refused
before training with the way out. What Keras 3 does outside of Estimators does not change: every
hook asks first whether it runs in the TensorFlow 1 graph of an Estimator.
"""
