"""Random calls of everything public, valid and invalid: ``python -m tests.fuzz``."""
