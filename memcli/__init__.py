"""mem: the memory of coding agents, kept in markdown, found through SQLite."""

__version__ = "0.1.0"
