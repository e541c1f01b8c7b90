"""Dependent inputs: maps to independent ones, and diagnostics of dependence."""
