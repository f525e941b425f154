"""Numbers about pairs of an image and a category, and the division of pairs into sets."""
