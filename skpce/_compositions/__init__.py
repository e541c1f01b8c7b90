"""Compositions step by step: log-ratios, indices and predictive distributions."""
