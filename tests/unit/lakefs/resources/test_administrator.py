"""The user of a server that nobody has set up yet: on the fake, for a real one has its user."""

from collections.abc import Iterator
from typing import Any

import pytest

from lakefs.client import LakefsClient
from lakefs.errors import LakefsError
from lakefs.fake.model import Model
from lakefs.fake.server import FakeLakefs, serving
from lakefs.resources import administrator
from lakefs.resources.administrator import AdministratorProvider

PROVIDER = AdministratorProvider()


@pytest.fixture
def new() -> Iterator[FakeLakefs]:
    with serving(Model(access_key_id="", secret_access_key="", initialized=False)) as server:
        yield server


CHOSEN = "chosen-by-the-stack"


def declared(server: FakeLakefs, secret: str = CHOSEN) -> dict[str, Any]:
    return {
        "endpoint": server.endpoint,
        "access_key_id": "AKIACHOSEN",
        "secret_access_key": secret,
        "user_name": "admin",
    }


def test_a_new_server_gets_the_keys_of_the_stack(new: FakeLakefs) -> None:
    assert not PROVIDER.read("administrator", declared(new)).id
    made = PROVIDER.create(declared(new))
    assert made.outs == declared(new)
    assert (new.model.access_key_id, new.model.secret_access_key) == ("AKIACHOSEN", CHOSEN)
    assert PROVIDER.read(made.id, declared(new)).id == made.id


def test_an_older_server_is_not_set_up_again(new: FakeLakefs) -> None:
    PROVIDER.create(declared(new))
    PROVIDER.create(declared(new))
    assert new.count("POST", "/setup_lakefs") == 1


def test_an_older_server_with_other_keys_is_one_sentence_without_keys(new: FakeLakefs) -> None:
    PROVIDER.create(declared(new))
    with pytest.raises(LakefsError, match="is set up already, and not with these keys") as error:
        PROVIDER.create(declared(new, "another-secret"))
    assert "another-secret" not in str(error.value)


def test_new_keys_are_tried_before_they_are_kept(new: FakeLakefs) -> None:
    PROVIDER.create(declared(new))
    new.model.secret_access_key = "rotated"
    rotated = declared(new, "rotated")
    assert PROVIDER.diff("administrator", declared(new), rotated).changes
    assert PROVIDER.update("administrator", declared(new), rotated).outs == rotated
    with pytest.raises(LakefsError):
        PROVIDER.update("administrator", rotated, declared(new))


def test_deleting_it_leaves_the_server_as_it_is(new: FakeLakefs) -> None:
    PROVIDER.create(declared(new))
    PROVIDER.delete("administrator", declared(new))
    assert PROVIDER.read("administrator", declared(new)).id


def test_empty_keys_are_refused_at_preview(new: FakeLakefs) -> None:
    (failure,) = PROVIDER.check({}, declared(new, "")).failures
    assert failure.property == "secret_access_key"
    assert failure.reason == (
        "The administrator of lakeFS needs a value for secret_access_key, and it is empty."
    )


def test_a_server_that_does_not_answer_yet_is_waited_for_with_what_it_lacks(
    new: FakeLakefs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its name in DNS and its certificate may come while the update runs."""
    silent = [LakefsError("lakeFS did not tell whether it is set up.") for _ in range(2)]
    silent.append(LakefsError("The ingress has no such host.", status=404))
    asked = administrator._initialized

    def answer(lakefs: LakefsClient) -> bool:
        if silent:
            raise silent.pop()
        return asked(lakefs)

    monkeypatch.setattr(administrator, "_initialized", answer)
    monkeypatch.setattr(administrator, "PAUSE_S", 0)
    PROVIDER.create(declared(new))
    assert new.model.access_key_id == "AKIACHOSEN"
    (line,) = capsys.readouterr().out.splitlines()
    assert f"Waiting: {new.endpoint} must lead to the Service lakefs" in line


def test_a_server_that_never_answers_is_its_own_sentence(
    new: FakeLakefs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(_lakefs: LakefsClient) -> bool:
        raise LakefsError("lakeFS did not tell whether it is set up.")

    monkeypatch.setattr(administrator, "_initialized", silent)
    monkeypatch.setattr(administrator, "WAIT_S", -1)
    with pytest.raises(LakefsError, match="did not tell whether it is set up"):
        PROVIDER.create(declared(new))
