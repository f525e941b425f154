"""RealBirdID's tables and figures: arXiv 2603.27033."""
