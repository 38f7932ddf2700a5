"""The command `truebench`: a short file per group of commands."""
