"""Evaluation of translations: scores with signatures, significance, references, word alignment.

quality        BLEU, chrF and TER; `resampling` gives intervals, `significance` compares two systems
sentences      the same for each sentence; `results` are the tables and the JSON
references     test texts, with one or several references for each line
language       how well a language model predicts a text

`extensions/honest` compares the test with the training text, `extensions/lab` has contrastive tests
and probes, `extensions/comet` scores by a network, `extensions/alignment` aligns words.
"""
