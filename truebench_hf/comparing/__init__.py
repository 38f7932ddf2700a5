"""Where finished results stand: two runs beside each other, all of them ranked, and rankings against others'."""
