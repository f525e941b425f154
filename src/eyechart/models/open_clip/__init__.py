"""Image and text encoders of open_clip."""
