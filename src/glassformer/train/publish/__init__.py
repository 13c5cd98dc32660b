"""A model that is given away gets its card, golden translations, checks and a copy here."""
