"""Expansions: their indices, marginals and moments, and the errors of these."""
