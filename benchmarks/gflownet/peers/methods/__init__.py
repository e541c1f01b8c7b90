"""One file an implementation: each trains members of a task and times itself."""
