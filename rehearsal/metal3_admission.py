"""What the webhook of baremetal-operator refuses of a changed BareMetalHost, said in CEL.

The rules and messages are those of v0.13.2, `validateChanges` in internal/webhooks/metal3.io/
v1alpha1/baremetalhost_validation.go; the real webhook, too, answers a dry run.
"""

from rehearsal.api import Api

_NAME = "metal3-baremetalhost"
_MANAGER = "baremetal-operator"
_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
_HOSTS = {
    "apiGroups": ["metal3.io"],
    "apiVersions": ["v1alpha1"],
    "operations": ["UPDATE"],
    "resources": ["baremetalhosts"],
}
_BMC = ".spec.?bmc.?address.orValue('')"
_MAC = ".spec.?bootMACAddress.orValue('')"
_VALIDATIONS = (
    {
        "expression": (
            f"oldObject{_BMC} == '' || object{_BMC} == oldObject{_BMC} || "
            "object.?status.?operationalStatus.orValue('') == 'detached' || "
            "object.?status.?provisioning.?state.orValue('') == 'registering'"
        ),
        "message": (
            "BMC address can not be changed if the BMH is not in the Registering state, or if the "
            "BMH is not detached"
        ),
    },
    {
        "expression": (
            f"oldObject{_MAC} == '' || object{_MAC}.lowerAscii() == oldObject{_MAC}.lowerAscii()"
        ),
        "message": "bootMACAddress can not be changed once it is set",
    },
)


def refuse_as_metal3(api: Api) -> None:
    """Make the API server refuse changes of BareMetalHosts as the webhook does."""
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": _NAME}}
    policy = {
        **kind,
        "kind": "ValidatingAdmissionPolicy",
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [_HOSTS]},
            "validations": list(_VALIDATIONS),
        },
    }
    binding = {
        **kind,
        "kind": "ValidatingAdmissionPolicyBinding",
        "spec": {"policyName": _NAME, "validationActions": ["Deny"]},
    }
    api.apply(f"{_POLICIES}/{_NAME}", policy, manager=_MANAGER, force=True)
    api.apply(f"{_BINDINGS}/{_NAME}", binding, manager=_MANAGER, force=True)
