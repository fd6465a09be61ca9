"""Embedders and language models, each one method wide."""
