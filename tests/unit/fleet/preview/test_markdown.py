"""Sentences are read in a comment as they are written, whatever signs they hold."""

import pytest
from markdown_it import MarkdownIt

from fleet.preview.markdown import markdown
from fleet.preview.markdown_parts import cell
from tests.support.preview.changes import summary
from tests.support.preview.engine_events import found


@pytest.mark.parametrize("text", ["['*'], ['*']", "a __b__ _c_", "[x](https://y)", "a~b~ \\* `c"])
def test_signs_of_markdown_in_a_sentence_are_read_as_they_are_written(text: str) -> None:
    said = f"Role 'a' must have no {text}"
    shown_text = markdown(summary(found(said, "advisory")))
    (row,) = (line for line in shown_text.splitlines() if "Role 'a'" in line)
    inline = MarkdownIt("commonmark").enable("strikethrough").parseInline(row.split(" | ")[1])
    parts = inline[0].children or []
    assert {part.type for part in parts} <= {"text", "text_special"}
    assert "".join(part.content for part in parts) == said


def test_what_stands_in_backticks_stays_code() -> None:
    assert cell("run `pulumi login <ADDRESS>` *now*") == "run `pulumi login <ADDRESS>` \\*now\\*"
