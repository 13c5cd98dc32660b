"""Days of the year and hours, which translations write by the rules of their language."""

ADDS = {"days": "dates.Dates"}
