"""Sheets by which people check a division, and their outcomes."""
