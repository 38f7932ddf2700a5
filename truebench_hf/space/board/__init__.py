"""What the Space shows, as plain data: leaderboard, ties, charts, conversations, judges. No Gradio in here."""
