"""Memory files: their values, grammar and edits. Pure."""
