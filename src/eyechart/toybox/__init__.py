"""A small visual world, drawn from free art by a seed, in the file formats of the field."""
