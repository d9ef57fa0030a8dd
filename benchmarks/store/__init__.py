"""The store against loaders that prepare every row in each pass, and against other ways to keep."""
