"""One room per paper: its data, its protocol, its scores and its tables."""
