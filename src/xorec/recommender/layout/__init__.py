"""Where items lie in the plane: a layout of what a model has learned of them, for maps."""
