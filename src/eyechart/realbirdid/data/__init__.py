"""The packaged sample of RealBirdID, and imports of observations."""
