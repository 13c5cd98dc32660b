"""Ray computes the parts of a long translation on many machines."""
