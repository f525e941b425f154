"""Timm."""
