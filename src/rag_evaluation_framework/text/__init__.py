"""Text: spans, characters, normalisation, tokens, sentences, numbers, passage search."""
