"""Finding what has these words, and nothing else."""
