"""Which claims are the same, which differ, which contradict each other. Pure."""
