"""The demo: one script as people write it, the same with estimator_io, and what each costs.

The way of a run: data → variants (as_written, readers, features, model_fn, keras_model) → runner,
measured by step_clock and trace → measurement → table, timeline and figures. Nothing in the library
imports this package, and importing it imports no TensorFlow.
"""

from estimator_io.demo.settings import Settings

__all__ = ["Settings"]
