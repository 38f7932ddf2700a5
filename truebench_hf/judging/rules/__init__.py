"""What programs can measure of a response: rules (`truebench_hf.rules`) held against its text."""
