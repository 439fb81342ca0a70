"""What agents' programs tell of a session, understood, and the lines of a journal that come of it."""
