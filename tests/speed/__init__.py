"""Measured, never timed tests."""
