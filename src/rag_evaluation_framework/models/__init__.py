"""Language models: messages in, completions out."""
