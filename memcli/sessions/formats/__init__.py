"""One file for each format of sessions, named after the agent that writes it."""
