"""Labels, label sets and class names that files give."""
