"""What happens when an agent's session begins, goes on and ends: memories shown, a journal kept."""
