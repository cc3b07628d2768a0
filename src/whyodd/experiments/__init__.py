"""The paper's experiments, one module or folder each."""
