"""Questions by a language model: what it is asked for and shown, and how its replies are read."""
