"""A text goes down these stages; each file imports only those before it.

adapting      a sentence as people write it becomes one as the model knows them, and back
sentence      the record: a sentence, to which each stage adds what it finds
options       how a search is made
reading       texts become sentences, and sentences the ids that the network reads
searching     ids become hypotheses
writing       hypotheses become text, and sentences whole texts
checking      translations with visible faults are searched for once more
"""
