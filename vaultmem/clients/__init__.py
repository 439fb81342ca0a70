"""Connecting agents' programs, by editing their own settings in place."""
