"""What the engine says where access is missing, as one sentence with the command that helps."""

import pytest

from engine.events import Diagnostic, Outcome
from fleet.preview.refusals import refusals

SAID = {
    "PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions": (
        "You are not logged in",
        "pulumi login",
    ),
    "no stack named 'dev' found": ("The backend has no stack dev", "pulumi stack init dev"),
    "getting stack configuration: get stack secrets manager: passphrase must be set with "
    "PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE environment variables": (
        "The passphrase of the secrets of dev is not set",
        "export PULUMI_CONFIG_PASSPHRASE_FILE",
    ),
    "getting stack configuration: get stack secrets manager: incorrect passphrase": (
        "The passphrase is not the one",
        "unset PULUMI_CONFIG_PASSPHRASE`",
    ),
    "unable to open bucket file:///gone: stat /gone: no such file or directory": (
        "The backend cannot be opened (unable to open bucket file:///gone",
        "pulumi login",
    ),
}


@pytest.mark.parametrize("said", SAID)
def test_an_engine_that_did_not_begin_is_one_sentence_with_a_command(said: str) -> None:
    (told,) = refusals("dev", Outcome(), f"Previewing\nerror: {said}\n")
    beginning, command = SAID[said]
    assert told.startswith(beginning)
    assert f"`{command}" in told
    assert "Traceback" not in told


def test_a_missing_plugin_is_one_command() -> None:
    said = (
        "no resource plugin 'pulumi-resource-kubernetes' found in the workspace at version v4.34.2 "
        "or on your $PATH, install the plugin using "
        "`pulumi plugin install resource kubernetes v4.34.2`"
    )
    outcome = Outcome(diagnostics=[Diagnostic(severity="error", resource="cluster", message=said)])
    (told,) = refusals("dev", outcome, "")
    command = "pulumi plugin install resource kubernetes v4.34.2"
    assert told == f"The provider plugin kubernetes is missing: run `{command}`."


@pytest.mark.parametrize(
    ("said", "command"),
    [
        ("invoking aws:ec2/getAmi:getAmi: No valid credential sources found", "aws sso login"),
        (
            "invoking hcloud:index/getImage:getImage: hcloud: unable to authenticate",
            "pulumi config set --secret gpu-fleet:hcloud_token --stack dev",
        ),
        (
            "configured Kubernetes cluster is unreachable: no route to host",
            "pulumi config set --secret gpu-fleet:kubeconfig --stack dev",
        ),
    ],
)
def test_an_account_that_refuses_names_the_command_that_renews_access(
    said: str, command: str
) -> None:
    outcome = Outcome(diagnostics=[Diagnostic(severity="error", resource="burst", message=said)])
    (told,) = refusals("dev", outcome, "")
    assert f"`{command}`" in told


def test_a_cluster_that_holds_to_the_rules_of_before_says_what_to_bring_first() -> None:
    denied = (
        'NodePool burst: nodepools.karpenter.sh "burst" is forbidden: ValidatingAdmissionPolicy '
        "'fleet-idle-gpu-node-pool' with binding 'fleet-idle-gpu-node-pool' denied request: x."
    )
    outcome = Outcome(diagnostics=[Diagnostic(severity="error", resource="", message=denied)])
    (told,) = refusals("dev", outcome, "")
    assert told.startswith("The cluster of dev enforces the rules of the last update: fix the")
    assert told.endswith("denied request: x).")


def test_of_a_traceback_the_last_line_is_told() -> None:
    text = 'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: no pool'
    outcome = Outcome(diagnostics=[Diagnostic(severity="error", resource="", message=text)])
    assert refusals("dev", outcome, "") == ("ValueError: no pool",)


def test_an_unforeseen_error_is_shown_as_the_engine_wrote_it() -> None:
    assert refusals("dev", Outcome(), "error: the moon is full\n") == ("the moon is full",)


def test_what_metal3_refuses_of_a_changed_host_is_told_with_the_way_to_do_it() -> None:
    """The texts are those of baremetal-operator v0.13.2, in baremetalhost_validation.go."""
    address = "BMC address can not be changed if the BMH is not in the Registering state"
    for said in (address, "bootMACAddress can not be changed once it is set"):
        message = Diagnostic(severity="error", resource="dgx-dgx-01", message=f"denied: {said}")
        (told,) = refusals("prod", Outcome(diagnostics=[message]), "")
        assert said in told
        assert told.endswith("take the entry out, update, and enter the machine again.")


@pytest.mark.parametrize(
    "said",
    [
        (
            'resource "{urn}" cannot be deleted\nbecause it is protected. To unprotect the '
            "resource, either remove the `protect` flag or use the command:\n"
            "`pulumi state unprotect '{urn}'`"
        ),
        (
            'unable to replace resource "{urn}"\nas it is currently marked for protection. To '
            "unprotect the resource, remove the `protect` flag"
        ),
    ],
)
def test_a_protected_resource_is_told_with_the_way_to_go_on(said: str) -> None:
    """The two texts are those of pulumi 3.220, in deploy/step.go and deploy/step_generator.go."""

    def told(kind: str, name: str) -> str:
        urn = f"urn:pulumi:prod::gpu-fleet::gpu:pools:Pool${kind}::{name}"
        message = Diagnostic(severity="error", resource=name, message=said.format(urn=urn))
        (sentence,) = refusals("prod", Outcome(diagnostics=[message]), "")
        return sentence

    host = told("kubernetes:metal3.io/v1alpha1:BareMetalHost", "dgx-dgx-01")
    assert host.startswith("dgx-dgx-01 is a machine whose entry is gone, and it has not left")
    assert "`leaving: true`" in host
    space = told("kubernetes:core/v1:Namespace", "teams-trading-production-namespace")
    assert space.startswith("The entry of the queue trading-production (its team and its name)")
    assert "`was:`" in space
    assert "`pulumi state unprotect 'urn:pulumi:prod::" in space
    assert space.endswith("' --stack prod` and preview again.")
