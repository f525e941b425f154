"""Preparation."""
