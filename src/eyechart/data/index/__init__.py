"""The index of the images of a split, its cache, and the keys of samples."""
