"""The rules on a real API server: the same verdict as at the preview, on one table of objects."""
