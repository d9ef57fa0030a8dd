"""Pipelines with a bottleneck put there on purpose, and what a profile should say of each."""
