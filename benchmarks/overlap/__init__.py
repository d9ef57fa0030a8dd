"""How much of the preparation of a batch hides behind the training step."""
