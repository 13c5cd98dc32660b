"""The command line imports and exports models of other toolkits."""
