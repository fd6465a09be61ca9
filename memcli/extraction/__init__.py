"""From a session to entries."""
