"""Results: what was judged as frames, scores on their groups, and the one reader of finished folders."""
