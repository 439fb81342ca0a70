"""Many small memories into few lasting ones, as a plan that can be looked through."""
