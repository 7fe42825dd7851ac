"""Machine-learning models."""
