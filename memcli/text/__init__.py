"""Text that must not be trusted: control characters, secrets, orders, and the words of a model.
Pure.
"""
