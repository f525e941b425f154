"""Generators behind a server: a wire format, its official client, and what all of them share."""
