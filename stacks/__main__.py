"""The program of every environment: what its stack file describes becomes resources."""

from stacks.compose import compose
from stacks.inputs import read_secrets, read_settings

settings = read_settings()
compose(settings, read_secrets(settings))
