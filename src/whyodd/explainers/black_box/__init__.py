"""Models explained by their scores alone: queried, distilled into a student, or sampled."""
