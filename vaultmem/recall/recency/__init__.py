"""What is later comes first, where it takes the place of what was."""
