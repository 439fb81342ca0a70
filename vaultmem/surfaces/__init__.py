"""How the outside reaches the service: thin covers, no logic of their own."""
