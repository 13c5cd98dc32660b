"""The command line shows what there is."""
