"""One verb, one file: read (edge), decide (pure), write (edge), return one report."""
