"""The store: what parse made, kept row by row across calls, processes and crashes.

`layout` says what a row holds, `rows` and `claims` are a store of rows as arrays of NumPy, in
memory (`memory`) or in files (`files`), `writer` fills it in the background, `generation`,
`folder` and `leases` keep its folder, and `graph` reads it within a tf.data pipeline. Only `spec`,
`key`, `graph` and `stage` know TensorFlow.
"""
