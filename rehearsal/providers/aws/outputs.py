"""What AWS gives back for what it makes: ARNs, ids, defaults."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

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
from rehearsal.providers.values import Asset

if TYPE_CHECKING:
    from rehearsal.providers.kinds import Asked
    from rehearsal.providers.values import Properties

CREATED = "2026-11-01T00:00:00Z"
S3_HOSTED_ZONE = "Z3AQBSTGFYJSTF"  # of us-east-1


def in_region(asked: Asked) -> Properties:
    """The region, which a preview knows from the provider."""
    return {"region": region_of(asked)}


def tagged_in_region(asked: Asked) -> Properties:
    """The region and all tags, which a preview knows from the provider."""
    return {**in_region(asked), **all_tags(asked)}


def bucket(asked: Asked) -> Properties:
    """Names and domains of a bucket."""
    region, suffix = region_of(asked), dns_suffix(region_of(asked))
    return {
        "arn": f"arn:{partition(region)}:s3:::{asked.id}",
        "bucketDomainName": f"{asked.id}.s3.{suffix}",
        "bucketRegion": region,
        "bucketRegionalDomainName": f"{asked.id}.s3.{region}.{suffix}",
        "hostedZoneId": S3_HOSTED_ZONE,
        "websiteDomain": None,
        "websiteEndpoint": None,
        "acl": asked.inputs.get("acl"),
        "requestPayer": asked.inputs.get("requestPayer") or "BucketOwner",
        "bucketPrefix": asked.inputs.get("bucketPrefix") or "",
    }


def bucket_object(asked: Asked) -> Properties:
    """The object's ARN, digest and address."""
    place = f"{asked.text('bucket')}/{asked.text('key')}"
    region = region_of(asked)
    checksums = ("Crc32", "Crc32c", "Crc64nvme", "Sha1", "Sha256")
    return {
        "arn": f"arn:{partition(region)}:s3:::{place}",
        "etag": hashlib.md5(_contents(asked), usedforsecurity=False).hexdigest(),
        "versionId": None,
        **dict.fromkeys((f"checksum{name}" for name in checksums), ""),
        "contentType": asked.text("contentType", "application/octet-stream"),
        "storageClass": asked.text("storageClass", "STANDARD"),
        "serverSideEncryption": asked.text("serverSideEncryption", "AES256"),
        "bucketKeyEnabled": asked.inputs.get("bucketKeyEnabled") or False,
        "kmsKeyId": asked.inputs.get("kmsKeyId"),
        "acl": asked.inputs.get("acl"),
    }


def role(asked: Asked) -> Properties:
    """A role's ARN and ids."""
    path = asked.text("path", "/")
    return {
        "arn": arn(asked, "iam", f"role{path}{asked.id}", regional=False),
        "createDate": CREATED,
        "uniqueId": unique_id("AROA", asked),
        "inlinePolicies": asked.inputs.get("inlinePolicies") or [],
        "managedPolicyArns": asked.inputs.get("managedPolicyArns") or [],
        "namePrefix": asked.inputs.get("namePrefix") or "",
    }


def user(asked: Asked) -> Properties:
    """A user's ARN and id."""
    path = asked.text("path", "/")
    return {
        "arn": arn(asked, "iam", f"user{path}{asked.id}", regional=False),
        "uniqueId": unique_id("AIDA", asked),
    }


def access_key(asked: Asked) -> Properties:
    """A made-up secret key, which AWS tells once; without a PGP key it comes in clear."""
    digest = base64.b64encode(hashlib.sha512(asked.id.encode()).digest()).decode()
    return {
        "createDate": CREATED,
        "secret": digest[:40],
        "sesSmtpPasswordV4": digest[40:84],
        "encryptedSecret": "",
        "encryptedSesSmtpPasswordV4": "",
        "keyFingerprint": "",
    }


def policy_id(asked: Asked) -> str:
    """A managed policy's id is its ARN."""
    path = asked.text("path", "/")
    return arn(asked, "iam", f"policy{path}{asked.text('name')}", regional=False)


def policy(asked: Asked) -> Properties:
    """A managed policy's ARN and id."""
    return {
        "arn": asked.id,
        "policyId": unique_id("ANPA", asked),
        "attachmentCount": 0,
        "namePrefix": asked.inputs.get("namePrefix") or "",
    }


def profile(asked: Asked) -> Properties:
    """An instance profile's ARN and ids."""
    path = asked.text("path", "/")
    return {
        "arn": arn(asked, "iam", f"instance-profile{path}{asked.id}", regional=False),
        "createDate": CREATED,
        "uniqueId": unique_id("AIPA", asked),
        "namePrefix": asked.inputs.get("namePrefix") or "",
    }


def queue_url(asked: Asked) -> str:
    """A queue's id is its URL."""
    region = region_of(asked)
    return f"https://sqs.{region}.{dns_suffix(region)}/{ACCOUNT}/{asked.text('name')}"


def queue(asked: Asked) -> Properties:
    """A queue's ARN and URL."""
    return {
        "arn": arn(asked, "sqs", asked.text("name")),
        "url": asked.id,
        "policy": asked.inputs.get("policy"),
        "namePrefix": asked.inputs.get("namePrefix") or "",
    }


def event_rule(asked: Asked) -> Properties:
    """An event rule's ARN."""
    return {
        "arn": arn(asked, "events", f"rule/{asked.id}"),
        "namePrefix": asked.inputs.get("namePrefix") or "",
    }


def event_target(asked: Asked) -> Properties:
    """A target's own id, which follows from its rule and ARN."""
    return {"targetId": target_id(asked)}


def target_id(asked: Asked) -> str:
    """The id that is given, or one that AWS makes."""
    seed = f"{asked.text('rule')} {asked.text('arn')}"
    return asked.text("targetId") or f"terraform-{hashlib.sha256(seed.encode()).hexdigest()[:26]}"


def vpc(asked: Asked) -> Properties:
    """A VPC's ARN and what comes with it."""
    table = derived_id("rtb", asked)
    return {
        "arn": arn(asked, "ec2", f"vpc/{asked.id}"),
        "defaultNetworkAclId": derived_id("acl", asked),
        "defaultRouteTableId": table,
        "mainRouteTableId": table,
        "defaultSecurityGroupId": derived_id("sg", asked),
        "dhcpOptionsId": derived_id("dopt", asked),
        "ipv6AssociationId": "",
        "ownerId": ACCOUNT,
    }


def subnet(asked: Asked) -> Properties:
    """A subnet's ARN and zone."""
    zone = asked.text("availabilityZone", f"{region_of(asked)}a")
    return {
        "arn": arn(asked, "ec2", f"subnet/{asked.id}"),
        "availabilityZone": zone,
        "availabilityZoneId": f"az{'abcdef'.index(zone[-1]) + 1}",
        "ipv6CidrBlockAssociationId": "",
        "ownerId": ACCOUNT,
    }


def security_group(asked: Asked) -> Properties:
    """A security group's ARN."""
    return {
        "arn": arn(asked, "ec2", f"security-group/{asked.id}"),
        "ownerId": ACCOUNT,
        "vpcId": asked.text("vpcId") or derived_id("vpc", asked),
        "ingress": asked.inputs.get("ingress") or [],
        "egress": asked.inputs.get("egress") or [],
        "namePrefix": asked.inputs.get("namePrefix") or "",
    }


def _contents(asked: Asked) -> bytes:
    source = asked.inputs.get("source")
    if isinstance(source, Asset):
        return source.hash.encode()
    if encoded := asked.inputs.get("contentBase64"):
        return base64.b64decode(str(encoded))
    return asked.text("content").encode()
