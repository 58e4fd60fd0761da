"""What kind of answer a text is, and whether it swears."""
