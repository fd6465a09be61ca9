"""What was said in sessions and committed in a repository, written into its record: the
tier below the memory files."""
