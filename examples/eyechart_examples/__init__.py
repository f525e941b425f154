"""What a package of your own adds to eyechart."""
