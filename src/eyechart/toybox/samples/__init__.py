"""The packaged samples that are drawn."""
