"""What a language model decides about memory: asked, read, carried out."""
