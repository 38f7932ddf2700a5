"""The Space: one module per tab over `space.board`. Each imports Gradio when it is built, not before."""
