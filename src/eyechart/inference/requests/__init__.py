"""Requests: what is asked, as data."""
