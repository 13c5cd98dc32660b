"""How good a translation is: scores and their signatures, significance, references from files;
and which word of it stands for which of the source (`aligner`)."""
