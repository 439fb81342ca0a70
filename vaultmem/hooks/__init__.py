"""An agent's life-cycle events."""
