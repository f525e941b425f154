"""Annotation sheets in HTML, and the tables of their answers."""
