"""Evaluation of translations: scores with signatures, significance, references, word alignment.

quality        BLEU, chrF and TER; `resampling` gives intervals, `significance` compares two systems
sentences      the same for each sentence; `results` and `page` show them
contrastive    right translations against wrong ones, by the probability that a model gives them
probe_report   where a network settles such a choice: `probe_pairs` reads, `probing` measures
aligner        word alignments of texts, from the cross-attention of a model
"""
