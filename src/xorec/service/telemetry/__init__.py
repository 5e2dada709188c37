"""What the service tells of itself: metrics, activity, logs."""
