"""Thin covers: how the outside reaches the operations."""
