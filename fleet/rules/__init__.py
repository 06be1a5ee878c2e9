"""Rules outside this program: exported for other clusters, written and tried by their authors."""
