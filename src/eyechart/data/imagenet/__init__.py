"""Imagenet."""
