"""The outputs that AWS computes: ARNs, ids, defaults."""

import base64
import hashlib

from rehearsal.providers.aws.facts import (
    ACCOUNT,
    all_tags,
    arn,
    derived_id,
    dns_suffix,
    partition,
    region_of,
    unique_id,
)
from rehearsal.providers.simulated_type import CloudRequest
from rehearsal.providers.values import Asset, Properties

CREATED = "2026-11-01T00:00:00Z"
S3_HOSTED_ZONE = "Z3AQBSTGFYJSTF"  # of us-east-1


def in_region(request: CloudRequest) -> Properties:
    """The region; a preview knows it from the provider."""
    return {"region": region_of(request)}


def tagged_in_region(request: CloudRequest) -> Properties:
    """The region and all tags; a preview knows them from the provider."""
    return {**in_region(request), **all_tags(request)}


def bucket(request: CloudRequest) -> Properties:
    """Names and domains of a bucket."""
    region, suffix = region_of(request), dns_suffix(region_of(request))
    return {
        "arn": f"arn:{partition(region)}:s3:::{request.id}",
        "bucketDomainName": f"{request.id}.s3.{suffix}",
        "bucketRegion": region,
        "bucketRegionalDomainName": f"{request.id}.s3.{region}.{suffix}",
        "hostedZoneId": S3_HOSTED_ZONE,
        "websiteDomain": None,
        "websiteEndpoint": None,
        "acl": request.inputs.get("acl"),
        "requestPayer": request.inputs.get("requestPayer") or "BucketOwner",
        "bucketPrefix": request.inputs.get("bucketPrefix") or "",
    }


def bucket_object(request: CloudRequest) -> Properties:
    """The object's ARN, digest and address."""
    place = f"{request.text('bucket')}/{request.text('key')}"
    region = region_of(request)
    checksums = ("Crc32", "Crc32c", "Crc64nvme", "Sha1", "Sha256")
    return {
        "arn": f"arn:{partition(region)}:s3:::{place}",
        "etag": hashlib.md5(_contents(request), usedforsecurity=False).hexdigest(),
        "versionId": None,
        **dict.fromkeys((f"checksum{name}" for name in checksums), ""),
        "contentType": request.text("contentType", "application/octet-stream"),
        "storageClass": request.text("storageClass", "STANDARD"),
        "serverSideEncryption": request.text("serverSideEncryption", "AES256"),
        "bucketKeyEnabled": request.inputs.get("bucketKeyEnabled") or False,
        "kmsKeyId": request.inputs.get("kmsKeyId"),
        "acl": request.inputs.get("acl"),
    }


def role(request: CloudRequest) -> Properties:
    """A role's ARN and ids."""
    path = request.text("path", "/")
    return {
        "arn": arn(request, "iam", f"role{path}{request.id}", regional=False),
        "createDate": CREATED,
        "uniqueId": unique_id("AROA", request),
        "inlinePolicies": request.inputs.get("inlinePolicies") or [],
        "managedPolicyArns": request.inputs.get("managedPolicyArns") or [],
        "namePrefix": request.inputs.get("namePrefix") or "",
    }


def user(request: CloudRequest) -> Properties:
    """A user's ARN and id."""
    path = request.text("path", "/")
    return {
        "arn": arn(request, "iam", f"user{path}{request.id}", regional=False),
        "uniqueId": unique_id("AIDA", request),
    }


def access_key(request: CloudRequest) -> Properties:
    """A made-up secret key, as clear text, as AWS returns it without a PGP key."""
    digest = base64.b64encode(hashlib.sha512(request.id.encode()).digest()).decode()
    return {
        "createDate": CREATED,
        "secret": digest[:40],
        "sesSmtpPasswordV4": digest[40:84],
        "encryptedSecret": "",
        "encryptedSesSmtpPasswordV4": "",
        "keyFingerprint": "",
    }


def policy_id(request: CloudRequest) -> str:
    """The id of a managed policy, which is its ARN."""
    path = request.text("path", "/")
    return arn(request, "iam", f"policy{path}{request.text('name')}", regional=False)


def policy(request: CloudRequest) -> Properties:
    """A managed policy's ARN and id."""
    return {
        "arn": request.id,
        "policyId": unique_id("ANPA", request),
        "attachmentCount": 0,
        "namePrefix": request.inputs.get("namePrefix") or "",
    }


def profile(request: CloudRequest) -> Properties:
    """An instance profile's ARN and ids."""
    path = request.text("path", "/")
    return {
        "arn": arn(request, "iam", f"instance-profile{path}{request.id}", regional=False),
        "createDate": CREATED,
        "uniqueId": unique_id("AIPA", request),
        "namePrefix": request.inputs.get("namePrefix") or "",
    }


def queue_url(request: CloudRequest) -> str:
    """The id of a queue, which is its URL."""
    region = region_of(request)
    return f"https://sqs.{region}.{dns_suffix(region)}/{ACCOUNT}/{request.text('name')}"


def queue(request: CloudRequest) -> Properties:
    """A queue's ARN and URL."""
    return {
        "arn": arn(request, "sqs", request.text("name")),
        "url": request.id,
        "policy": request.inputs.get("policy"),
        "namePrefix": request.inputs.get("namePrefix") or "",
    }


def event_rule(request: CloudRequest) -> Properties:
    """An event rule's ARN."""
    return {
        "arn": arn(request, "events", f"rule/{request.id}"),
        "namePrefix": request.inputs.get("namePrefix") or "",
    }


def event_target(request: CloudRequest) -> Properties:
    """The target's id."""
    return {"targetId": target_id(request)}


def target_id(request: CloudRequest) -> str:
    """The given id of a target, or one made from its rule and ARN."""
    seed = f"{request.text('rule')} {request.text('arn')}"
    return request.text("targetId") or f"terraform-{hashlib.sha256(seed.encode()).hexdigest()[:26]}"


def vpc(request: CloudRequest) -> Properties:
    """A VPC's ARN and the ids of the parts that AWS makes with it."""
    table = derived_id("rtb", request)
    return {
        "arn": arn(request, "ec2", f"vpc/{request.id}"),
        "defaultNetworkAclId": derived_id("acl", request),
        "defaultRouteTableId": table,
        "mainRouteTableId": table,
        "defaultSecurityGroupId": derived_id("sg", request),
        "dhcpOptionsId": derived_id("dopt", request),
        "ipv6AssociationId": "",
        "ownerId": ACCOUNT,
    }


def subnet(request: CloudRequest) -> Properties:
    """A subnet's ARN and zone."""
    zone = request.text("availabilityZone", f"{region_of(request)}a")
    return {
        "arn": arn(request, "ec2", f"subnet/{request.id}"),
        "availabilityZone": zone,
        "availabilityZoneId": f"az{'abcdef'.index(zone[-1]) + 1}",
        "ipv6CidrBlockAssociationId": "",
        "ownerId": ACCOUNT,
    }


def security_group(request: CloudRequest) -> Properties:
    """A security group's ARN."""
    return {
        "arn": arn(request, "ec2", f"security-group/{request.id}"),
        "ownerId": ACCOUNT,
        "vpcId": request.text("vpcId") or derived_id("vpc", request),
        "ingress": request.inputs.get("ingress") or [],
        "egress": request.inputs.get("egress") or [],
        "namePrefix": request.inputs.get("namePrefix") or "",
    }


def placement_group(request: CloudRequest) -> Properties:
    """A placement group's ARN and id."""
    return {
        "arn": arn(request, "ec2", f"placement-group/{request.id}"),
        "placementGroupId": derived_id("pg", request),
        "partitionCount": request.inputs.get("partitionCount") or 0,
        "spreadLevel": request.inputs.get("spreadLevel") or "",
    }


def _contents(request: CloudRequest) -> bytes:
    source = request.inputs.get("source")
    if isinstance(source, Asset):
        return source.hash.encode()
    if encoded := request.inputs.get("contentBase64"):
        return base64.b64decode(str(encoded))
    return request.text("content").encode()
