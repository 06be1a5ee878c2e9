"""The fixtures of every test that needs a lakeFS server."""

from tests.support.lakefs_ground import fake, ground

__all__ = ["fake", "ground"]
