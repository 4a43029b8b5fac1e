"""What every test shares."""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
