"""The settings of the published study."""
