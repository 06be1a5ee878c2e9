"""The configuration of the rules in the form in which Pulumi hands it to a policy pack."""

import json
from collections.abc import Sequence

from policies.configuration import RuleSettings, configure
from policies.language.rule import Rule
from policies.rules import ALL

POLICY = "fleet-resources"
STACK_POLICY = "fleet-stack"


def pack_config(rule_settings: RuleSettings, rules: Sequence[Rule] = ALL) -> dict[str, object]:
    """Returns the content of a `--policy-pack-config` file for the settings of an environment.

    Raises PolicyConfigError with a sentence for each unknown rule and bad setting.
    """
    plain_settings = json.loads(json.dumps(rule_settings, default=str))  # days that YAML has read
    configure(plain_settings, rules)
    return {POLICY: plain_settings, STACK_POLICY: plain_settings}
