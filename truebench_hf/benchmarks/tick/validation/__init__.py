"""How far checklists, and judges who answer them, can be trusted (paper 004, sections 3.2.1 and 3.2.2, appendix B)."""
