"""The Space: one module per tab over `report.board`. Each imports Gradio when it is built, not before."""
