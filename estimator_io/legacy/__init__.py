"""Input functions that somebody else wrote, made fast as they are: `estimator_io.accelerate`."""
