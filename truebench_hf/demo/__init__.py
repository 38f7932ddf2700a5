"""`truebench demo`: what the package does, shown in two seconds on stored answers, then live on this machine."""
