"""The command line translates documents."""
