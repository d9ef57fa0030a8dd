"""Several replicas and several processes that train one Keras model."""
