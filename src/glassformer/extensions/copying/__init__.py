"""Copy tokens, with which a network learns in training to repeat what it cannot spell."""

ADDS = {"copy_teacher": "teaching.make_copy_teacher"}
