"""A lakeFS server in this process, as its public API and documentation describe it.

It holds everything in memory and answers on 127.0.0.1, so that the real lakefs-sdk talks to it.
What it leaves out: users other than the administrator, presigned URLs, imports, pull requests, the
S3 gateway, and the languages of Lua and Airflow hooks: such a hook is recorded as run and passed.
"""

from lakefs.fake.model import Model
from lakefs.fake.parts import ApiError
from lakefs.fake.server import DroppedError, FakeLakefs, serving

__all__ = ["ApiError", "DroppedError", "FakeLakefs", "Model", "serving"]
