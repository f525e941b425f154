"""Index."""
