"""The pack. PolicyPack serves until the engine ends it: import `policies.gates.plan` in tests."""

from pulumi_policy import EnforcementLevel, PolicyPack

from policies.gates.plan import policies

PolicyPack("gpu-fleet", policies(), enforcement_level=EnforcementLevel.MANDATORY)
