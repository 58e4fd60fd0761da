"""What an answer cites, and whether that bears it out."""
