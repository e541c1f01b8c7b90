"""Effects of named parts of an input: by recombination, entry by entry, by a fit."""
