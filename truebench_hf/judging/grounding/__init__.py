"""Whether an answer is grounded in its prompt, and whether it does what was asked (paper 002, section 3, appendix A)."""
