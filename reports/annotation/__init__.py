"""Sheets for people to answer, and what becomes of their answers."""
