"""From documents to evaluation samples with exact ground truth."""
