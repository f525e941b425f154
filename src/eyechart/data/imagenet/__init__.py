"""ImageNet's classes and class names."""
