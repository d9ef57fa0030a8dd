"""Python functions in worker processes: code by value, rows through shared memory, order kept."""
