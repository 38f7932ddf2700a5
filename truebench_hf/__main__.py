"""`python -m truebench_hf`: the command `truebench`."""

from truebench_hf.cli.main import main

if __name__ == "__main__":
    main()
