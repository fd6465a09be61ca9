"""Text that must not be trusted: controls, secrets, orders, the words of a model.
Pure."""
