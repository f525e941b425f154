"""Figures by name, and the parts that they are drawn with."""
