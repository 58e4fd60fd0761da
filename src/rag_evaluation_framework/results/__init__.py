"""From scores to what they amount to: summaries with intervals, comparisons."""
