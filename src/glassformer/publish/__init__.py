"""What makes a model fit to be given away: its card, its golden translations, checks, a copy."""
