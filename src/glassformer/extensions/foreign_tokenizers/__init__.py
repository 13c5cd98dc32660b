"""The tokenizers of other toolkits: SentencePiece models and BPE codes, as imported models bring.

imported       what they have in common; `imported_bpe` are the codes of subword-nmt
sentencepiece  the file of a SentencePiece model; `unigram` and `sentencepiece_bpe` are its kinds
subwords       files that a user names
spbleu, moses  the tokens that BLEU may count
"""

ADDS = {
    "tokenizer.unigram": "unigram.Unigram",
    "tokenizer.sentencepiece_bpe": "sentencepiece_bpe.SentencepieceBpe",
    "tokenizer.codes": "imported_bpe.ImportedBpe",
    "read_subwords": "subwords.read_subwords",
    "build_moses": "moses.build_moses",
    "build_spbleu": "spbleu.build_spbleu",
    "make_tokenizer": "subwords.make_tokenizer",
}
