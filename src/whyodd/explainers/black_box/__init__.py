"""What is explained by its scores alone: asked about rows, distilled into a student, or sampled."""
