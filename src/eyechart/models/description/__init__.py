"""What identifies a model, and the cache of such descriptions."""
