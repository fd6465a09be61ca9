"""From a task to the block an agent reads."""
