"""From an instruction to its dimensions, stage by stage (paper 001, section 3.1 and appendix B)."""
