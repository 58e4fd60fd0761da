"""Ground truth annotations: reading and writing them, agreement, and the merged truth."""
