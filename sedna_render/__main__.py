"""``python -m sedna_render``."""

from sedna_render.cli import main

if __name__ == "__main__":
    main()
