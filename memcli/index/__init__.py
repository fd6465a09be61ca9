"""The index: `.memory.db`, derived from the memory files and disposable."""
