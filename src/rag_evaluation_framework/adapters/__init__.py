"""Vendors and networks: what the package talks to, each behind an interface of our own."""
