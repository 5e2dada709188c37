"""The service: lists over HTTP, events that are felt at once and never lost."""
