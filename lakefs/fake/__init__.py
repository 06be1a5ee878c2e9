"""A lakeFS server in this process, as its public API and documentation describe it.

It holds everything in memory and answers on 127.0.0.1, so the real lakefs-sdk talks to it. It
leaves out users other than the administrator, presigned URLs, imports, pull requests and the S3
gateway. A Lua or Airflow hook is recorded as run and passed.
"""

from lakefs.fake.model import AnswerError, Model
from lakefs.fake.server import DroppedError, FakeLakefs, serving

__all__ = ["AnswerError", "DroppedError", "FakeLakefs", "Model", "serving"]
