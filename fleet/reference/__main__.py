"""Writes docs/stack-file.md and stacks/stack-file.schema.json."""

from fleet.reference.files import PAGE, SCHEMA, page_text, schema_text

if __name__ == "__main__":
    PAGE.write_text(page_text(), encoding="utf-8")
    SCHEMA.write_text(schema_text(), encoding="utf-8")
