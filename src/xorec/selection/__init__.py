"""How settings are chosen: comparison, race, tuning, and the plan of what a job costs."""
