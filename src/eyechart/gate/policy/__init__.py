"""Limits and tiers of metrics, and floors."""
