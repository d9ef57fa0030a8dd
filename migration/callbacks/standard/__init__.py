"""TensorFlow's own hooks as callbacks that need no graph: one hook a file.

Each keeps using the hook's timer, so it decides at the steps and seconds at which the hook would.
"""
