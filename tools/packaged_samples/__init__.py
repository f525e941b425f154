"""Tools that write the packaged samples and their licence notices; not part of the wheel."""
