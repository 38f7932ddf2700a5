"""People's part: sheets out to annotators, their answers back into rows, how far they agree (paper 004, section 5, H)."""
