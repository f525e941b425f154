"""RealBirdID: the protocols species, flat list, free form and abstention, and `python -m eyechart.realbirdid`."""
