"""The fixtures of every test that needs a lakeFS server."""

from tests.fakes.lakefs.ground import fake, ground

__all__ = ["fake", "ground"]
