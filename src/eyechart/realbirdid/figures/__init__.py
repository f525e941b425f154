"""Figures of RealBirdID."""
