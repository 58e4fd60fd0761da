"""A run: samples are asked, scored and written down, and nothing finished is ever lost."""
