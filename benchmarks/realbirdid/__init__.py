"""RealBirdID: species, genus, or an honest \"cannot tell\"."""
