"""Benchmarks of ensembles whose outputs are scores, losses or columns of logits."""
