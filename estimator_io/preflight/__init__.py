"""A look at an input_fn before training: what it gives, and what is wrong with it."""
