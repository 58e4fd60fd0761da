"""What an answer says of what a golden set expects: names, relations, milestones, turns."""
