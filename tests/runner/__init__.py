"""Tests of how programs are run."""
