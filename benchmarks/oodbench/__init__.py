"""OODBench: image–category pairs that detectors fail on."""
