"""The gate of a session: compare all its cases with a baseline, and decide what fails."""
