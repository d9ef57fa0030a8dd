"""What runs beside the training loop: hooks for the Estimator, callbacks for fit."""
