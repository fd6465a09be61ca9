"""Sessions of coding agents, read from the files their agents keep."""
