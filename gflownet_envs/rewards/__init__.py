"""Uncertain rewards: log R of objects, one row a member."""
