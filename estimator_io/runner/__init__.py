"""Runs other people's programs as `python` does, for `estimator-io run`."""
