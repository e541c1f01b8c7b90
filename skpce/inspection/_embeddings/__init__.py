"""Embeddings side by side: nested searches, and tests on members held out."""
