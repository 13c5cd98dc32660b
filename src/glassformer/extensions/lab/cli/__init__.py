"""The command line probes and prunes models, and describes their heads."""
