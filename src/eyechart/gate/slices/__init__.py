"""Tests of slices, such as classes, and their messages."""
