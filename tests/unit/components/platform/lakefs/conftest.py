"""The fixtures of every test that needs a lakeFS server, and a repository on it."""

from tests.fakes.lakefs.ground import fake, ground
from tests.unit.components.platform.lakefs.repositories import declared, state

__all__ = ["declared", "fake", "ground", "state"]
