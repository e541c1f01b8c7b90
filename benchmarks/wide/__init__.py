"""Benchmarks of many inputs."""
