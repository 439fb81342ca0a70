"""What one can do with memories."""
