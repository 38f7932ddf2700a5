"""Conversations with simulated users who know nothing of the dimensions (paper 001, section 3.2 and appendix D)."""
