"""Answers to questions about pairs of image and category."""
