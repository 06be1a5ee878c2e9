"""The API of the deployed cluster: a client, and what waits for or changes nodes through it."""
