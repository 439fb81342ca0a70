"""What is known of entities, and what leads from one to another."""
