"""What is to be evaluated, as a manifest says it, and everything checked before the first request."""
