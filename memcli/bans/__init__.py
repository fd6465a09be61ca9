"""What a rule says must not be done, as patterns of commands and files. Pure."""
