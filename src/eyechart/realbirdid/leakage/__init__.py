"""Images of a split that are in another collection, too."""
