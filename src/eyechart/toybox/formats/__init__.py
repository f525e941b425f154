"""The toy world in the formats of public data sets."""
