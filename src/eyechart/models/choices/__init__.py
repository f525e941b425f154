"""Choices."""
