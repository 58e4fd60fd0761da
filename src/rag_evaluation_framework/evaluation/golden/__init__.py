"""Golden sets: what is asked of each split, and by which metrics it is scored."""
