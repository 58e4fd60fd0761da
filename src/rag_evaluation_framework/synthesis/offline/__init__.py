"""Raw records of an offline dataset: questions, retrieved contexts and answers that cite them."""
