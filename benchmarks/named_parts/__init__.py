"""Named parts of the reward on every task: effects, three routes to them, a check."""
