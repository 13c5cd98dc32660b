"""Learning of tokens with probabilities, for `text.tokenizer=unigram`; the core reads them."""

ADDS = {"learn_unigram": "learning.learn_unigram"}
