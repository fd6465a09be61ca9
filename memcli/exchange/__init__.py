"""Other memories: import and export."""
