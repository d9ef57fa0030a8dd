"""Tests of the options as flags."""
