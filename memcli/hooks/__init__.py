"""What agents and git call."""
