"""The pictures of the toy world."""
