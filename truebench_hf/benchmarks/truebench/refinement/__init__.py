"""Criteria refined until judge and people agree, and a validator finds no defect (paper 000, section 3.4, appendix F)."""
