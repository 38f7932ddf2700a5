"""Other people's shapes: exports of finished runs, rewards for trainers, and the task of inspect."""
