"""The page: a folder that opens from disk, with every number of some runs and every answer behind it."""
