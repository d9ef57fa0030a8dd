"""The rules, one a file. A new file is found by itself; its code is its name."""
