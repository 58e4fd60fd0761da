"""Whether evidence bears out a claim, by its words alone."""
