"""A rehearsal on a lakeFS server that the user has named: all is made there, and nothing stays."""

import pytest

from lakefs.fake import Model, serving
from tests.rehearsal.conftest import Checkout

SECRET = "of-the-users-own-server"


@pytest.mark.slow
def test_all_is_made_on_the_named_server_under_other_names_and_goes_again(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Model(access_key_id="AKIAOWN", secret_access_key=SECRET)) as server:
        theirs = server.model.create_repository("ticks", "s3://theirs", "main", read_only=False)
        monkeypatch.setenv("LAKEFS_ENDPOINT", server.endpoint)
        monkeypatch.setenv("LAKEFS_ACCESS_KEY_ID", "AKIAOWN")
        monkeypatch.setenv("LAKEFS_SECRET_ACCESS_KEY", SECRET)
        ended = checkout.run("rehearse", "dev", "--json")
        assert ended.code == 0, ended.stderr
        held = ended.report["lakefs"]
        assert held["endpoint"] == server.endpoint
        names = {each["name"].split("-", 2)[2] for each in held["repositories"]}
        assert names == {"backtests", "ticks"}
        assert all(each["protected"] == ["main"] for each in held["repositories"])
        assert server.model.repositories == {"ticks": theirs}
        assert (len(theirs.commits), theirs.protection) == (1, ())
    files = [path for path in checkout.workspace().directory.rglob("*") if path.is_file()]
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]
