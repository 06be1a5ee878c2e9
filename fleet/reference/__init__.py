"""What a stack file may say: its page, its JSON schema, and the answers of `fleet explain`."""
