"""What texts are compared by: words, numbers, measures, denials; equal forms folded into one."""
