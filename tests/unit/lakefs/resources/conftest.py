"""The fixtures of every test that needs a lakeFS server, and a repository on it."""

from tests.support.lakefs_ground import fake, ground
from tests.support.lakefs_repositories import declared, state

__all__ = ["declared", "fake", "ground", "state"]
