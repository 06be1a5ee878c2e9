"""The files that `make docs` writes of the stack file, and what belongs into them."""

import json
from pathlib import Path

from fleet.reference.page import page
from fleet.reference.schema import schema

_ROOT = Path(__file__).resolve().parents[2]
PAGE = _ROOT / "docs" / "stack-file.md"
SCHEMA = _ROOT / "stacks" / "stack-file.schema.json"


def page_text() -> str:
    """Return the reference page."""
    return page()


def schema_text() -> str:
    """Return the schema as JSON, a member a line."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
