"""Choosing how each judge is asked about grounding and eligibility, by labelled answers (paper 002, section 3)."""
