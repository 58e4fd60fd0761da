"""What can be wrong with a file: schema, consistency, quality, golden contexts; and where."""
