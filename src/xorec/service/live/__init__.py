"""What is served now: a generation of the model, and the events that came after it."""
