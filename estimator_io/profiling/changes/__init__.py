"""The changes that a profile may recommend, one kind a file.

Each is a function of what was measured that yields suggestions, with the gain that the model
predicts; `ranking` asks them all.
"""
