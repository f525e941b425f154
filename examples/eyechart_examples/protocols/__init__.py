"""The protocols of this package: each module is one, and has its name."""
