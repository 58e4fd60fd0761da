"""The nouns: frozen records that every room passes on and none changes."""
