"""Texts to vectors, and the models on disk that make them."""
