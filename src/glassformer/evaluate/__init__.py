"""Evaluation of translations: scores with signatures, significance, references, word alignment.

quality        BLEU, chrF and TER; `significance` compares two systems; `references` reads files
aligner        word alignments of texts, from the cross-attention of a model
"""
