"""The classes of labelled sentences, as ids."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

MOST_LABELS = 1000


class Labels:
    """The classes of a classifier in the place of a tokenizer: each is one id, from 1.

    0 is padding, as in every vocabulary.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self._ids = {label: [number] for number, label in enumerate(labels, 1)}

    def __len__(self) -> int:
        return 1 + len(self.labels)

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the labels."""
        return sha256("\n".join(self.labels).encode()).hexdigest()

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the id of each label; raise ValueError for one that is not known."""
        unknown = next((text for text in texts if text not in self._ids), None)
        if unknown is not None:
            raise ValueError(
                f"there is no label {unknown!r}; there are {', '.join(self.labels[:8])}"
            )
        return [self._ids[text] for text in texts]


def find_labels(labels: Iterable[str]) -> list[str]:
    """Return the different labels of a corpus, in order; raise ValueError for too many or one."""
    ordered = sorted({label for label in labels if label.strip()})
    if len(ordered) > MOST_LABELS:
        raise ValueError(f"{len(ordered):,} different labels: a line is LABEL, a tab, a sentence")
    if len(ordered) < 2:
        raise ValueError(f"there is nothing to tell apart: the labels are {ordered}")
    return ordered
