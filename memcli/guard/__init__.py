"""Rules that bind: what a guarded entry forbids, and whether a tool's call is that."""
