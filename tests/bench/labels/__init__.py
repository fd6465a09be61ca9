"""Labels of public sessions of coding agents, and what fetches the sessions again."""
