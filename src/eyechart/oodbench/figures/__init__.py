"""Figures of OODBench."""
