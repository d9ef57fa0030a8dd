"""Tests of the look at input functions before training."""
