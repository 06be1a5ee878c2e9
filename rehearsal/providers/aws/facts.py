"""The simulated AWS account: its number, the regions, and the forms of ARNs and ids."""

import hashlib
import json
import secrets

from rehearsal.providers.simulated_type import CloudRequest
from rehearsal.providers.values import Properties

ACCOUNT = "123456789012"
"""The account in AWS's own examples; no customer has it."""

REGIONS = (
    *("us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "ca-west-1"),
    *("eu-central-1", "eu-central-2", "eu-west-1", "eu-west-2", "eu-west-3", "eu-north-1"),
    *("eu-south-1", "eu-south-2", "il-central-1", "me-central-1", "me-south-1", "af-south-1"),
    *("ap-east-1", "ap-east-2", "ap-south-1", "ap-south-2", "ap-northeast-1", "ap-northeast-2"),
    *("ap-northeast-3", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4"),
    *("ap-southeast-5", "ap-southeast-6", "ap-southeast-7", "mx-central-1", "sa-east-1"),
    *("us-gov-east-1", "us-gov-west-1", "cn-north-1", "cn-northwest-1"),
)


def partition(region: str) -> str:
    """The partition of a region: the second field of every ARN in it."""
    for prefix, name in (("us-gov-", "aws-us-gov"), ("cn-", "aws-cn")):
        if region.startswith(prefix):
            return name
    return "aws"


def dns_suffix(region: str) -> str:
    """The domain of a region's endpoints."""
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"


def region_of(request: CloudRequest) -> str:
    """The region of a resource: its own input, else its provider's."""
    return request.text("region") or str(request.config.get("region"))


def arn(request: CloudRequest, service: str, resource: str, *, regional: bool = True) -> str:
    """The ARN of a resource of the account; ARNs of IAM have no region."""
    region = region_of(request)
    place = region if regional else ""
    return f"arn:{partition(region)}:{service}:{place}:{ACCOUNT}:{resource}"


def new_id(prefix: str) -> str:
    """An id of EC2's form: `vpc-` and 17 hexadecimal digits."""
    return f"{prefix}-{secrets.token_hex(9)[:17]}"


def new_key_id() -> str:
    """The id of an access key: AKIA and 16 capitals and digits."""
    return "AKIA" + "".join(secrets.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") for _ in range(16))


def derived_id(prefix: str, request: CloudRequest) -> str:
    """An id for a part that AWS makes with the object; the same for the same object."""
    return f"{prefix}-{hashlib.sha256(f'{prefix} {request.id}'.encode()).hexdigest()[:17]}"


def unique_id(prefix: str, request: CloudRequest) -> str:
    """An id of IAM's form, such as AROA and 17 letters and digits, for the object."""
    return prefix + hashlib.sha256(request.id.encode()).hexdigest()[:17].upper()


def all_tags(request: CloudRequest) -> Properties:
    """The output `tagsAll`: the provider's default tags, overridden by the resource's tags."""
    tags = request.inputs.get("tags", {})
    if not isinstance(tags, dict):
        return {"tagsAll": tags}
    default = json.loads(str(request.config.get("defaultTags") or "{}"))
    return {"tagsAll": {**default.get("tags", {}), **tags}}
