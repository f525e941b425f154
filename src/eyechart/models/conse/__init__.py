"""Conse."""
