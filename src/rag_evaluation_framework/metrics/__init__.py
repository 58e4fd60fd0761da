"""Pure functions from what was retrieved or answered, and what should have been, to a number."""
