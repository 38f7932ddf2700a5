"""What the questions of checklists ask for, sorted by a model into categories (paper 004, appendix A)."""
