"""Questions made by rules: what sentences, tables, lists and headings give to ask about."""
