"""Modules that TensorFlow dropped after 2.15 and tensorflow-estimator still imports, written anew.

Each submodule stands in for one TensorFlow module, with the names tensorflow-estimator asks of it.
They import TensorFlow, so only `install()` imports them.
"""
