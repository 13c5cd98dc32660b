"""Import and export of models in other formats; tests compare each with our own model."""
