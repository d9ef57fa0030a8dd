"""tf.data service: stages that run in a process of their own, or outlive a call in this one."""
