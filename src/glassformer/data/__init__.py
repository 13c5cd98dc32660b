"""Files to batches (5.1): find and read pairs, keep their ids, cut them into batches."""
