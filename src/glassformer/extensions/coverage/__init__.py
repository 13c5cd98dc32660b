"""Words of a source that its translation drops, by how much attention they get."""

ADDS = {
    "dropped": "dropped.DroppedWords",
    "dropped_rule": "dropped.describe_rule",
    "list_rule": "lists.describe_list_rule",
}
