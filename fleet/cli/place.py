"""The checkout that the command was installed from, and how help texts name its parts."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ENVIRONMENT_HELP = "Environment: a file stacks/Pulumi.ENV.yaml."
MACHINE_HELP = "A machine of the catalogue (dgx-h200), or a pool of an environment (prod/dgx)."
PURPOSE_HELP = (
    "training, inference, batch or realtime. Default: the pool's, or training for a machine."
)
SET_HELP = "Try a tuning choice, such as power=performance; repeatable."
JSON_HELP = "Print JSON instead of text."
