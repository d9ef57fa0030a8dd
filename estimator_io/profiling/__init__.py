"""What limits training, input or step; which stage; what to change, and what it will bring.

The folder is called after the work, since `estimator_io.profile` is the function. It reads
pipelines and never changes them, so it may import everything that makes them.
"""
