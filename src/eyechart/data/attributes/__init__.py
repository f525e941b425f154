"""Attributes of images, such as brightness, which are measured from their files."""
