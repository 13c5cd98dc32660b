"""What does the damage in these tests, and what notes how it went."""
