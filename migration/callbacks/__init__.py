"""SessionRunHooks under fit, and Keras callbacks under the Estimator."""
