"""What the tests take for granted of lakeFS, on the fake and on a real server."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lakefs_sdk.models.commit_creation import CommitCreation
from lakefs_sdk.models.repository_creation import RepositoryCreation
from lakefs_sdk.models.reset_creation import ResetCreation
from lakefs_sdk.models.revert_creation import RevertCreation
from lakefs_sdk.models.tag_creation import TagCreation

from lakefs.errors import LakefsError
from lakefs.fake.model import Model, matches
from lakefs.fake.server import serving
from lakefs.repository import DataRepository, ObjectChange
from tests.support.backtests import contents, put
from tests.support.lakefs_calls import ask, diverged, refused
from tests.support.lakefs_ground import ACCESS_KEY, SECRET_KEY, Ground, on_fake


def test_a_two_dot_diff_says_what_makes_the_right_of_the_left(repository: DataRepository) -> None:
    first = put(repository, "main", a=b"1", b=b"1")
    repository.remove("main", "a")
    second = put(repository, "main", b=b"2", c=b"1")
    assert list(repository.changes(first, second, since_base=False)) == [
        ObjectChange(path="a", kind="removed"),
        ObjectChange(path="b", kind="changed"),
        ObjectChange(path="c", kind="added"),
    ]


def test_a_commit_needs_changes_unless_it_is_told(repository: DataRepository) -> None:
    commit = repository.lakefs.api.commits_api.commit
    nothing = CommitCreation.parse_obj({"message": "Nothing"})
    assert refused(repository, commit, "main", nothing) == 400
    allowed = CommitCreation.parse_obj({"message": "Nothing", "allow_empty": True})
    assert ask(repository, commit, "main", allowed).id == repository.head("main")


def test_names_are_taken_once(ground: Ground, repository: DataRepository) -> None:
    api = repository.lakefs.api
    assert refused(repository, api.tags_api.get_tag, "v1") == 404
    tag = TagCreation.parse_obj({"id": "v1", "ref": "main"})
    assert ask(repository, api.tags_api.create_tag, tag).commit_id == repository.head("main")
    put(repository, "main", a=b"1")
    assert refused(repository, api.tags_api.create_tag, tag) == 409
    assert ask(repository, api.tags_api.get_tag, "v1").commit_id != repository.head("main")
    with pytest.raises(LakefsError, match="409"):
        repository.open_branch("main", repository.head("main"))
    again = {"name": repository.name, "storage_namespace": ground.new_namespace()}
    with pytest.raises(LakefsError, match="409"):
        repository.lakefs.ask(
            "create it",
            api.repositories_api.create_repository,
            RepositoryCreation.parse_obj(again),
        )


def test_a_namespace_is_taken_even_when_its_repository_is_gone(ground: Ground) -> None:
    lakefs, namespace = ground.lakefs, ground.new_namespace()
    api = lakefs.api.repositories_api
    body = {"name": ground.new_name(), "storage_namespace": namespace}
    lakefs.ask("create", api.create_repository, RepositoryCreation.parse_obj(body))
    lakefs.ask("delete", api.delete_repository, body["name"])
    body["name"] = ground.new_name()
    with pytest.raises(LakefsError, match="found lakeFS objects in the storage namespace") as error:
        lakefs.ask("create", api.create_repository, RepositoryCreation.parse_obj(body))
    assert error.value.status == 400


def test_the_default_branch_is_never_deleted(repository: DataRepository) -> None:
    with pytest.raises(LakefsError) as error:
        repository.delete_branch("main")
    assert error.value.status == 403


def test_a_revert_takes_back_one_commit(repository: DataRepository) -> None:
    put(repository, "main", a=b"1")
    wrong = put(repository, "main", a=b"2", b=b"2")
    put(repository, "main", c=b"3")
    body = RevertCreation.parse_obj({"ref": wrong, "parent_number": 0})
    ask(repository, repository.lakefs.api.branches_api.revert_branch, "main", body)
    assert contents(repository, repository.head("main")) == {"a": b"1", "c": b"3"}


def test_a_reset_forgets_what_is_staged(repository: DataRepository) -> None:
    repository.upload("main", "a", b"1")
    body = ResetCreation.parse_obj({"type": "reset"})
    ask(repository, repository.lakefs.api.branches_api.reset_branch, "main", body)
    assert not list(repository.uncommitted("main"))


def test_a_commit_is_found_by_the_start_of_its_id_and_an_ancestor_by_its_distance(
    repository: DataRepository,
) -> None:
    first = put(repository, "main", a=b"1")
    second = put(repository, "main", a=b"2")
    assert repository.show(second[:12]).id == second
    assert repository.show("main~1").id == first


def test_the_log_has_the_newest_first_and_can_follow_one_line(repository: DataRepository) -> None:
    diverged(repository, "A", "B", "A")
    merged = repository.merge("side", "main", "Merge", {})
    api = repository.lakefs.api.refs_api
    log = repository.lakefs.everything
    every = [c.message for c in log("log", api.log_commits, repository.name, merged)]
    line = [
        c.message for c in log("log", api.log_commits, repository.name, merged, first_parent=True)
    ]
    assert every[0] == line[0] == "Merge"
    assert every[-1] == line[-1] == "Repository created"
    assert "Put of-side" in every
    assert "Put of-side" not in line


def test_an_upload_can_insist_on_what_is_there(repository: DataRepository) -> None:
    upload = repository.lakefs.api.objects_api.upload_object
    first = ask(repository, upload, "main", "a", content=b"1", if_none_match="*")
    assert refused(repository, upload, "main", "a", content=b"2", if_none_match="*") == 412
    assert refused(repository, upload, "main", "b", content=b"2", if_match=first.checksum) == 412
    ask(repository, upload, "main", "a", content=b"2", if_match=first.checksum)


def test_a_folder_is_listed_as_one(repository: DataRepository) -> None:
    put(repository, "main", **{"d/a": b"1", "d/b": b"1", "e": b"1"})
    objects = repository.lakefs.api.objects_api
    listed = ask(repository, objects.list_objects, "main", delimiter="/").results
    assert [(each.path, each.path_type) for each in listed] == [
        ("d/", "common_prefix"),
        ("e", "object"),
    ]
    stat = ask(repository, objects.stat_object, "main", "d/a")
    assert (stat.size_bytes, stat.path) == (1, "d/a")
    assert refused(repository, objects.stat_object, "main", "d") == 404


def test_rules_are_set_only_over_the_list_that_was_read(repository: DataRepository) -> None:
    rules = repository.lakefs.api.repositories_api
    stale = ask(repository, rules.get_branch_protection_rules_with_http_info).headers["ETag"]
    ask(repository, rules.set_branch_protection_rules, [{"pattern": "v*"}], if_match=stale)
    with pytest.raises(LakefsError) as error:
        ask(repository, rules.set_branch_protection_rules, [], if_match=stale)
    assert error.value.status == 412


@settings(deadline=None)  # it depends on what else the machine does
@given(content=st.binary(min_size=1, max_size=200))
def test_every_content_comes_back_as_it_went(content: bytes) -> None:
    with serving(Model(access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY)) as fake:
        repository = on_fake(fake).new_repository()
        commit_id = put(repository, "main", **{"a b/ü?&=#%": content})
        assert contents(repository, commit_id) == {"a b/ü?&=#%": content}


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("main", "main", True),
        ("main", "maintenance", False),
        ("release-*", "release-1", True),
        ("v?", "v1", True),
        ("v?", "v10", False),
        ("[m]ain", "main", False),
    ],
)
def test_a_glob_knows_star_and_question_mark_alone(pattern: str, name: str, expected: bool) -> None:
    assert matches(pattern, name) is expected
