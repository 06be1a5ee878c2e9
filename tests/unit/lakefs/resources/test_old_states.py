"""A stack whose state was written by 0.1.0 can still be updated and destroyed."""

import base64
import subprocess
import sys

import pytest

from tests.conftest import ROOT

OF_0_1_0 = {
    "ActionProvider": "gASVOwAAAAAAAACMIWNvbXBvbmVudHMucGxhdGZvcm0ubGFrZWZzLmFjdGlvbpSMDkFjdGlvblByb3"
    "ZpZGVylJOUKYGULg==",
    "AdministratorProvider": "gASVSQAAAAAAAACMKGNvbXBvbmVudHMucGxhdGZvcm0ubGFrZWZzLmFkbWluaXN0cmF0b"
    "3KUjBVBZG1pbmlzdHJhdG9yUHJvdmlkZXKUk5QpgZQu",
    "BranchProtectionProvider": "gASVUAAAAAAAAACMLGNvbXBvbmVudHMucGxhdGZvcm0ubGFrZWZzLmJyYW5jaF9wcm9"
    "0ZWN0aW9ulIwYQnJhbmNoUHJvdGVjdGlvblByb3ZpZGVylJOUKYGULg==",
    "GcRulesProvider": "gASVPgAAAAAAAACMI2NvbXBvbmVudHMucGxhdGZvcm0ubGFrZWZzLmdjX3J1bGVzlIwPR2NSdWxl"
    "c1Byb3ZpZGVylJOUKYGULg==",
    "RepositoryProvider": "gASVQwAAAAAAAACMJWNvbXBvbmVudHMucGxhdGZvcm0ubGFrZWZzLnJlcG9zaXRvcnmUjBJSZX"
    "Bvc2l0b3J5UHJvdmlkZXKUk5QpgZQu",
}
"""The property `__provider` of each kind of resource inside lakeFS."""
LOAD = (
    "import base64, pickle, sys\n"
    "print(type(pickle.loads(base64.b64decode(sys.argv[1]))).__name__)\n"
)


@pytest.mark.parametrize("name", OF_0_1_0)
def test_the_provider_that_an_old_state_names_is_found(name: str) -> None:
    assert b"components.platform.lakefs" in base64.b64decode(OF_0_1_0[name])
    # in a process of its own, as the engine loads it: nothing of ours is imported yet
    command = (sys.executable, "-c", LOAD, OF_0_1_0[name])
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == name
