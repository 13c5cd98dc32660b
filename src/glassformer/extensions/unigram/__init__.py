"""Tokens with probabilities, for `text.tokenizer=unigram`: how they are learned, and read."""

ADDS = {
    "learn_unigram": "learning.learn_unigram",
    "tokenizer.learned_unigram": "learned_unigram.LearnedUnigram",
}
