"""Named parts of the reward on every task: effects, routes to them, a check."""
