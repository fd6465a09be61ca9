"""What `mem init` writes for git and for agents."""
