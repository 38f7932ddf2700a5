"""TICK and STICK (paper 004): checklists of yes/no questions made for one instruction, and what they are good for."""
