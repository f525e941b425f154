"""The data set that protocols evaluate: images, keys, label sets, limits and slices."""
