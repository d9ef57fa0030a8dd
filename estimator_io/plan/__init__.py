"""A pipeline as data: calls with their arguments, what they depend on, and how many run at once."""
