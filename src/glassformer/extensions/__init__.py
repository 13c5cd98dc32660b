"""The extensions are built on the core, which imports none of them and works without them."""
