"""Every body and every answer of the service, as pydantic models: no starlette here."""
