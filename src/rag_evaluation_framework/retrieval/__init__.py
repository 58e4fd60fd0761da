"""From documents to hits: chunkers, embedders, stores and rerankers, and the evaluations that compare them."""
