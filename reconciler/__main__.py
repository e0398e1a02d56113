"""``python -m reconciler``."""

from reconciler.commands import main

if __name__ == "__main__":
    main()
