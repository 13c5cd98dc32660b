"""Ideas of other papers that a training follows: what its loss adds, and pairs that models make."""

VERBS = {"augment": ("Train", "check-data", "cli.augment.augment")}
ADDS = {
    "idea.risk_weight": "minimum_risk.MinimumRiskIdea",
    "idea.alignment_weight": "guided_alignment.GuidedAlignmentIdea",
    "idea.prior_weight": "language_prior.LanguagePriorIdea",
    "idea.teachers": "distillation.DistillationIdea",
    "noisy_batches": "noisy_batches.make_batches",
    "stages": "curriculum.add_stages",
    "count_staged": "curriculum.count_pairs",
}
