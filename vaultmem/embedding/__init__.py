"""Turning texts into vectors, with models that lie on disk."""
