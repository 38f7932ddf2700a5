"""A judge of one's own: a small model, trained to give the yes or no that a judge gave in finished runs."""
