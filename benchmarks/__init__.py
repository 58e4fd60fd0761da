"""Speed, memory and size, measured against named peers in the same run."""
