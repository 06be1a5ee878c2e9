"""The resource types of AWS that the stand-in knows."""

from __future__ import annotations

from rehearsal.providers.aws import ec2, events, iam, s3

KINDS = (*s3.KINDS, *iam.KINDS, *events.KINDS, *ec2.KINDS)
