"""OODBench's formulae on arrays."""
