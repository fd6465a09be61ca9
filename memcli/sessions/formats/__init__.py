"""One file a transcript format."""
