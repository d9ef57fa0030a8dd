"""Kills training again and again, and compares the rows of the steps that count with no kill."""
