"""The data of a training (5.1): find and read sentence pairs, store their ids, make batches."""
