"""Tables of settings: frozen objects with checked values."""
