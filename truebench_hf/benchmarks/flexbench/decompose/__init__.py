"""Our dimensions of an instruction against those that people wrote (paper 001, section 5.2 and appendix C)."""
