"""RealBirdID: the protocols species, flat list, free form and abstention, and the import of observations."""
