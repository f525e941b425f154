"""The comparison of two runs of a case, metric by metric."""
