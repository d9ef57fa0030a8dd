"""The command line: one module a subcommand, none of which imports TensorFlow before it must."""
