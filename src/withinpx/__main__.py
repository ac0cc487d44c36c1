"""``python -m withinpx``."""

from withinpx.cli import main

main()
