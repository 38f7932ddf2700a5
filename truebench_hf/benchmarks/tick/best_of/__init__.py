"""Best of N: a model answers N times, and a scoring function selects among the answers (paper 004, section 4.2)."""
