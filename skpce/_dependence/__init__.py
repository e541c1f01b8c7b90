"""Dependent inputs: maps to independent ones, and tests of independence."""
