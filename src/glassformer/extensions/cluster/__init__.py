"""Ray computes the parts of a long translation on many machines."""

ADDS = {"translate_shards": "cli.cluster.translate_on_cluster"}
