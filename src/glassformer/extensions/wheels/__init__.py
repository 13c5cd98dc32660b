"""The libraries in C are compiled for wheels of other machines, and for browsers."""
