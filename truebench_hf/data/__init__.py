"""Every form of row as typed models, and the readers of files, the Hub and other people's data sets."""
