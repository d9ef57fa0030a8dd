"""The TensorFlow functions that pipelines are made of.

Every function here is self-contained: it uses TensorFlow, NumPy, the standard library and its
neighbours in this folder, and nothing else of estimator_io. That is what lets
`InputFn.source_code()` print them verbatim. Importing a module of this folder imports TensorFlow.
"""
