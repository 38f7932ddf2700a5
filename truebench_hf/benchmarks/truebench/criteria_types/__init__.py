"""Does a checklist agree with people better than a rating does? Four types of criteria compared (paper 000, section 5.1)."""
