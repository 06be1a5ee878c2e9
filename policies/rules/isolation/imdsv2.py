"""A machine of EC2 must give its role's credentials by IMDSv2 alone, and to nobody behind a hop.

That is `httpTokens: required`. A pod is one hop behind its node: with a limit of one hop the answer
with the credentials does not reach it. What an EC2NodeClass leaves out Karpenter fills in (tokens
required, one hop); an instance or launch template without options takes those of the account.
"""

from policies.language import cel
from policies.language.cel_forms import Fault, of_object
from policies.language.manifest import at, describe
from policies.language.rule import Kind, Manifest, Rule, Settings

ID = "isolation/imdsv2"
_EC2 = ("aws:ec2/instance:Instance", "aws:ec2/launchTemplate:LaunchTemplate")
_TOKENS = "must have metadataOptions.httpTokens required."
_HOPS = "must have metadataOptions.httpPutResponseHopLimit 1, or its pods have its credentials."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns what lets others than the machine itself have its credentials."""
    kind = manifest.get("kind")
    is_class = kind == "EC2NodeClass" and str(manifest.get("apiVersion")).startswith("karpenter.")
    if not is_class and kind not in _EC2:
        return []
    options = at(manifest, "spec", "metadataOptions")
    tokens, hops = at(options, "httpTokens"), at(options, "httpPutResponseHopLimit")
    found = []
    if at(options, "httpEndpoint") == "disabled":
        return []
    if tokens != "required" and not (is_class and tokens is None):
        found.append(_TOKENS)
    if hops not in (None, 1):
        found.append(_HOPS)
    return [f"{describe(manifest)} {fault}" for fault in found]


KINDS: tuple[Kind, ...] = (("karpenter.k8s.aws", "ec2nodeclasses"),)
_OPTIONS = "object.spec.?metadataOptions"

RULE = Rule(
    id=ID,
    sentence="A machine of EC2 must give its credentials by IMDSv2 alone, and to no pod.",
    why=(
        "With IMDSv1, or two hops, whoever can make a pod or a server on the machine fetch an "
        "address has the credentials of the machine's role, its boot data among what they open."
    ),
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html",
    predicate=violations,
    admission=of_object(
        KINDS,
        f"{_OPTIONS}.?httpEndpoint.orValue('enabled') != 'disabled'",
        [
            Fault(
                broken=f"{_OPTIONS}.?httpTokens.orValue('required') != 'required'",
                says=cel.literal(_TOKENS),
            ),
            Fault(
                broken=f"{_OPTIONS}.?httpPutResponseHopLimit.orValue(1) != 1",
                says=cel.literal(_HOPS),
            ),
        ],
    ),
)
