"""The page: a folder that opens from disk, with every metric of the runs and every answer."""
