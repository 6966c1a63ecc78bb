"""What several tests use."""

import os

from hypothesis import HealthCheck, settings

# Fixed examples, so that a test does not depend on chance; MALKOHA_LONG=1 tries many and other ones.
settings.register_profile("short", max_examples=60, deadline=None, derandomize=True)
settings.register_profile(
    "long", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("long" if os.environ.get("MALKOHA_LONG", "0") != "0" else "short")
