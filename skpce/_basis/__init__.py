"""The orthonormal polynomial basis and its multi-index set."""
