"""Files of answers instead of a model."""
