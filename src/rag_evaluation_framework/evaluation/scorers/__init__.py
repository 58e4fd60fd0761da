"""From the names of metrics to scores of answers."""
