"""Regressors built on others, or on expansions without a list of terms."""
