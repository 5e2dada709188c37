"""What each route does: a validated request in, an answer out."""
