"""Language models as judges: prompts, votes, quotes, rubrics."""
