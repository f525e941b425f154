"""OODBench's tables and figures: arXiv 2602.18094."""
