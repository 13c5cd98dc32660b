"""The server answers these requests; each file has the paths of one subject."""
