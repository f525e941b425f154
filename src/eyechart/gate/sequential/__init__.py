"""Sequential."""
