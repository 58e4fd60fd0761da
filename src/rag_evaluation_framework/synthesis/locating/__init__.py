"""Finds where a copied passage is in its document."""
