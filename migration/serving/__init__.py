"""SavedModels of Keras models with the signatures of an Estimator's serving input receivers."""
