"""Refits of all permutations of y, without refits."""
