"""To whom roles may be bound: known ones to the account that each is meant for.

cluster-admin goes to administrators alone, wherever it is bound. A role that holds what leads to
more is judged where it is bound in all namespaces, and one of Kubernetes' own parts in each.
"""

from collections.abc import Iterator, Sequence

from policies.language import cel
from policies.language.cel_forms import Fault
from policies.language.known_rights import ACCOUNTS, OF_PEOPLE
from policies.language.manifest import at, items
from policies.language.rule import Manifest

_ADMIN = "must not bind cluster-admin."
_PEOPLE = "must not bind {role} in all namespaces; a RoleBinding gives it in one."
_OWN = "must bind {role} to its own account alone."
_SYSTEM = "system:"


def faults(binding: Manifest, administrators: Sequence[object]) -> Iterator[str]:
    """Yield what is wrong with whom a binding gives its role to."""
    role, subjects = at(binding, "roleRef", "name"), items(binding.get("subjects"))
    if role == "cluster-admin":
        if not _are_administrators(subjects, administrators):
            yield _ADMIN
    elif at(binding, "roleRef", "kind") == "ClusterRole":
        people = role in OF_PEOPLE and binding.get("kind") == "ClusterRoleBinding"
        own = _accounts(str(role), binding)
        if not people and own is None:
            return
        meant = [*administrators, *(own or ())]
        if not all(_subject(each) in meant or _any_space(each) in meant for each in subjects):
            yield (_PEOPLE if people else _OWN).format(role=role)


def _accounts(role: str, binding: Manifest) -> Sequence[str] | None:
    """The subjects that a role is meant for; None of one that anybody may have there."""
    if binding.get("kind") == "ClusterRoleBinding" or role.startswith(_SYSTEM):
        return ACCOUNTS.get(role)
    return None


def _are_administrators(subjects: Sequence[object], administrators: Sequence[object]) -> bool:
    return bool(subjects) and all(_subject(each) in administrators for each in subjects)


def _subject(subject: object) -> str:
    space = at(subject, "namespace")
    name = f"{space}/{at(subject, 'name')}" if space else at(subject, "name")
    return f"{at(subject, 'kind')}/{name}"


def _any_space(subject: object) -> str:
    return f"{at(subject, 'kind')}/*/{at(subject, 'name')}"


_SUBJECT = "s.kind + '/' + (s.?namespace.orValue('') == '' ? '' : s.namespace + '/') + s.name"
VARIABLES = {"accounts": cel.literal(ACCOUNTS)}
"""Variables of the rule that has these faults."""


def cel_faults(known: str) -> Iterator[Fault]:
    """The twins of `faults`; `known` is CEL of the administrators."""
    subjects = "object.?subjects.orValue([])"
    role, of = (f"object.?roleRef.?{field}.orValue('')" for field in ("name", "kind"))
    admin = f"{role} == 'cluster-admin'"
    unknown = f"{subjects}.exists(s, !(({_SUBJECT}) in {known}))"
    yield Fault(broken=f"{admin} && (size({subjects}) == 0 || {unknown})", says=cel.literal(_ADMIN))
    everywhere = "object.kind == 'ClusterRoleBinding'"
    yield Fault(
        broken=f"{of} == 'ClusterRole' && {everywhere} && {role} in {list(OF_PEOPLE)} && {unknown}",
        says=cel.text(_PEOPLE, role=role),
    )
    meant = f"variables.accounts[{role}]"
    stranger = f"!(({_SUBJECT}) in {meant}) && !((s.kind + '/*/' + s.name) in {meant})"
    yield Fault(
        broken=(
            f"{of} == 'ClusterRole' && ({everywhere} || {role}.startsWith('{_SYSTEM}')) && "
            f"!({admin}) && {role} in variables.accounts && "
            f"{subjects}.exists(s, !(({_SUBJECT}) in {known}) && {stranger})"
        ),
        says=cel.text(_OWN, role=role),
    )
