"""Scripts that run in the environment of the rivals, not in this one."""
