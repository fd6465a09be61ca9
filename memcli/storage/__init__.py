"""Reading and writing on disk: all or nothing, locked, journalled."""
