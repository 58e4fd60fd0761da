"""From raw offline records to the question answering and summary splits with their manifest."""
