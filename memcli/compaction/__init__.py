"""Keeping memory small and true."""
