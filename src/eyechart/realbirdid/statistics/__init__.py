"""RealBirdID's formulae on arrays."""
