"""tf.estimator on every TensorFlow from 2.15 to 2.21, with the real tensorflow-estimator 2.15.0.

`install()` is the whole interface for programs; `estimator_module()` is for libraries that need
the working API module. Importing this package imports no TensorFlow.
"""

from estimator_io.compat.installation import estimator_module, install, uninstall

__all__ = ["estimator_module", "install", "uninstall"]
