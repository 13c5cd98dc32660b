"""Figures consist of these parts: a grammar, nodes and links, and a scene that is drawn."""
