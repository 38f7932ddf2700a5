"""How far judges agree with people's preferences between two responses, by four protocols (paper 004, section 3.2.2)."""
