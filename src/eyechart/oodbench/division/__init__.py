"""Division."""
