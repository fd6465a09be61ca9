"""What was said in sessions and committed in a repository: the tier below the memory files."""
