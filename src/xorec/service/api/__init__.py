"""The API: one file for each resource, with its schemas, handlers and routes."""
