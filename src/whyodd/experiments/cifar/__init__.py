"""Internal validation of the paper: flipping pixels of CIFAR-10."""
