"""Protocols of image classification, one class each, and what they ask."""
