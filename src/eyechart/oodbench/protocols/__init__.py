"""OODBench's protocols, one class each, and how the page shows their samples."""
