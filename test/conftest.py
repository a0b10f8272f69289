"""What all tests share."""

from hypothesis import settings

# A machine shared with other work is slow at times: how long an example takes says nothing about the code.
settings.register_profile("default", deadline=None)
settings.load_profile("default")
