"""The factories of input functions, one a kind of source, all on the same stages."""
