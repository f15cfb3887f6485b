"""`python -m shaping` is `shaping`."""

from shaping.cli.app import main

if __name__ == "__main__":
    main()
