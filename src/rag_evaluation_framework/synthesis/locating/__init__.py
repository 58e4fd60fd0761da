"""Where a copied passage stands in its document."""
