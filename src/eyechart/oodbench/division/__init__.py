"""Divisions of pairs into ID, OOD-S and OOD-H, and what they are made of."""
