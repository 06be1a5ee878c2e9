"""What Pulumi encrypts in its state: texts that the program, or the SDK for it, marks as secret."""


class EncryptedText(str):
    """A text with such a mark. It is still the text, so that rules can read what it says."""

    __slots__ = ()
