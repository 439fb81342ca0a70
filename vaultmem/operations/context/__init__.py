"""What an agent should know before it starts: the block of text, and what belongs into it."""
