"""Surrogates, embeddings and ablations of one data set, side by side."""
