"""Estimators as plain data: in model files, and in pickles."""
