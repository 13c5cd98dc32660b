"""The weights of a network: their names and shapes, and the files that hold them."""
