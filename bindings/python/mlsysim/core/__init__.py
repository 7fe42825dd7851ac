"""Import paths of the parts of the engine."""
