"""Text encoders of sentence-transformers."""
