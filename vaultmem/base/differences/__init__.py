"""What two texts have not in common, by lines and by words."""
