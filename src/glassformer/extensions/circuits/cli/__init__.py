"""The command line says why a word was written, and which lines taught it."""
