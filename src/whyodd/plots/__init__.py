"""Pictures of explanations, one file each: ``(explanation, ...) -> Axes`` or figure."""
