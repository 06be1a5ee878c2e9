"""Explains why the engine failed, in sentences that name the command that helps."""

import re
from collections.abc import Iterator, Sequence

from engine.backend_help import BACKEND_HELP
from engine.events import NOISE, STACK, Diagnostic, Outcome, Violation
from policies.verdicts import PackFindings
from settings import how_to_set
from settings.owned_machines import ENTER_AGAIN, TWO_UPDATES

TRACEBACK = "Traceback (most recent call last)"

_PROTECTED = (
    r"[\"']? (?:as it is currently marked for protection|cannot be deleted because it is protected)"
)

# Messages of Pulumi, AWS, Hetzner and Kubernetes about missing access, and the advice for each.
# {line} is the message.
_HELP = (
    *BACKEND_HELP,
    (
        r"passphrase must be set",
        (
            "The passphrase of the secrets of {environment} is not set: run "
            "`export PULUMI_CONFIG_PASSPHRASE_FILE=FILE` with a file that holds it, or set "
            "PULUMI_CONFIG_PASSPHRASE."
        ),
    ),
    (
        r"incorrect passphrase",
        (
            "The passphrase is not the one that encrypts the secrets of {environment}: run "
            "`unset PULUMI_CONFIG_PASSPHRASE`, which wins where both are set, and "
            "`export PULUMI_CONFIG_PASSPHRASE_FILE=FILE` with a file that holds the right one."
        ),
    ),
    (
        (
            r"(?i)hcloud.*(unauthorized|unable to authenticate)|token.*is invalid.*hcloud|"
            r"unable to authenticate \(unauthorized"
        ),
        "Hetzner rejects the token of {environment}: run `{set_hcloud_token}`.",
    ),
    (
        (
            r"Kubernetes cluster is unreachable|unable to load (Kubernetes client|schema)|"
            r"error loading kubeconfig|invalid kubeconfig"
        ),
        (
            "The cluster of {environment} does not answer ({line}): check the route to it, or run "
            "`{set_kubeconfig}`."
        ),
    ),
    (
        r"ValidatingAdmissionPolicy 'fleet-[a-z0-9-]+' .*denied request",
        (
            "The cluster of {environment} enforces the rules of the last update: fix the resource, "
            "or first deploy the setting or the exemption that allows it, in an update without "
            "the resource ({line})."
        ),
    ),
    (
        r"BMC address can not be changed|bootMACAddress can not be changed",
        "Metal3 refuses another bmc_address or boot_mac_address ({line}): " + ENTER_AGAIN,
    ),
    (
        rf"BareMetalHost::(?P<resource>[^\s\"']+){_PROTECTED}",
        ("{resource} is a machine whose entry is gone, and it has not left: " + TWO_UPDATES),
    ),
    (
        rf"(?P<urn>urn:pulumi:[^\s\"']*:Namespace::teams-(?P<resource>[^\s\"']+)-namespace){_PROTECTED}",
        (
            "The entry of the queue {resource} (its team and its name) is gone from "
            "gpu-fleet:teams, and its namespace is protected, because its jobs and their data go "
            "with it: put the entry back, with another `pool` where its own goes, and with `was:` "
            "at its team where that has a new name. Where nothing in the namespace is needed any "
            "more, run `pulumi state unprotect '{urn}' --stack {environment}` and preview again."
        ),
    ),
    (
        rf"(?P<urn>urn:pulumi:[^\s\"']*:(?P<kind>\w+)::(?P<resource>[^\s\"']+)){_PROTECTED}",
        (
            "{kind} {resource} is protected, because jobs, machines or data go with it: put its "
            "entry back, or one with `was:` where it has a new name. Where nothing in it is "
            "needed any more, run `pulumi state unprotect '{urn}' --stack {environment}` and "
            "preview again."
        ),
    ),
    (
        r"`?(?P<command>pulumi plugin install resource (?P<plugin>[\w-]+)(?: v[\w.+-]+)?)`?",
        "The provider plugin {plugin} is missing: run `{command}`.",
    ),
    (
        r"no resource plugin|failed to load plugin|Could not automatically download",
        "A provider plugin is missing ({line}): run `pulumi install`.",
    ),
)


def refusals(environment: str, outcome: Outcome, output: str) -> tuple[str, ...]:
    """Returns each reason once; if the engine did not start, the last line of `output`."""
    told = [sentence for found in _telling(outcome) for sentence in _sentences(found)]
    if not told:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("error:")]
        told = [line.removeprefix("error:").strip() for line in (errors or lines)[-1:]]
    return tuple(dict.fromkeys(_helped(environment, text) for text in told))


def unexplained(violations: Sequence[Violation], heard: PackFindings) -> tuple[str, ...]:
    """Returns the blocking violations that no finding reports, as "resource: message".

    They come from a pack that is not ours, or from one whose findings are lost.
    """
    stops = {(one.resource.urn if one.resource else "") for one in heard.stopping}

    def is_told(violation: Violation) -> bool:
        of_stack = f"::{STACK}::" in violation.urn  # also where a pack names no resource
        return violation.pack in heard.packs and (
            violation.urn in stops or (of_stack and "" in stops)
        )

    return tuple(
        f"{violation.resource}: {' '.join(violation.message.split())}"
        for violation in violations
        if violation.level != "advisory" and not is_told(violation)
    )


def _telling(outcome: Outcome) -> list[Diagnostic]:
    broken = [d for d in outcome.diagnostics if d.severity == "error"]
    return [d for d in broken if not d.message.startswith(NOISE)]


def _sentences(diagnostic: Diagnostic) -> Iterator[str]:
    """Yields one sentence per line for the program's errors, one text for any other."""
    lines = [line.strip() for line in diagnostic.message.splitlines() if line.strip()]
    if TRACEBACK in diagnostic.message:
        yield lines[-1]
    elif all(line.endswith(".") for line in lines):
        yield from lines
    else:
        yield (
            f"{diagnostic.resource}: {' '.join(lines)}" if diagnostic.resource else " ".join(lines)
        )


def _helped(environment: str, text: str) -> str:
    for pattern, sentence in _HELP:
        if found := re.search(pattern, text):
            return sentence.format(
                **found.groupdict(),
                environment=environment,
                line=text.rstrip("."),
                set_hcloud_token=how_to_set("hcloud_token", environment),
                set_kubeconfig=how_to_set("kubeconfig", environment),
            )
    return text
