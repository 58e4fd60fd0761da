"""From documents to hits: chunkers, embedders, stores and rerankers, compared end to end."""
