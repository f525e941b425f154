"""`python -m eyechart` is the command `eyechart`."""

from eyechart.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
