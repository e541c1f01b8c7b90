"""Decisions under learned models: the studies of ``docs/studies``."""
