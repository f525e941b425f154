"""Figures of the classification study."""
