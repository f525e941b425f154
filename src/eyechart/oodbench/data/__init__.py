"""The packaged sample of OODBench, and training corpora."""
