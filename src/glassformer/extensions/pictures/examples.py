"""Sentences and models of which some pictures are drawn better than of the gallery's own.

Imports no torch.
"""

EVERYDAY = "everyday-en-fr"
DOUBT = "Could you help me with this?"  # that model hesitates: tu or vous, and for what?
TURN = "You are very kind."  # greedy search begins with vous, and tu ends likelier
BEACH = "We went to the beach with our friends yesterday."  # of one layer all heads have a habit
ELSEWHERE = {
    "V43": BEACH,
    "V46": BEACH,
    "V54": BEACH,
    "V81": DOUBT,
    "V82": TURN,
    "V83": DOUBT,
}  # of `EVERYDAY`
