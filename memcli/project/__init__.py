"""Where a project is, how it is configured, and what git knows of it."""
