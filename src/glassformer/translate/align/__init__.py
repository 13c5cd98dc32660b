"""Word alignments of sentences and their translations, from cross-attention.

links         links between words, gold ones, and how well two sets agree
pairs         a sentence and its translation in tokens and words; attention between the words
choose_head   the head that aligns words best, and the file that keeps the choice
marked_words  words and punctuation marks, as documents count them
alignments    links between the words of whole texts
symbols       symbols that were set aside, placed in a translation
"""
