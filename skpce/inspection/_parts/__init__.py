"""Effects of named parts of an input: by recombination, and entry by entry."""
