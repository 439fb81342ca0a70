"""What people write from day to day: daily notes, and tasks."""
