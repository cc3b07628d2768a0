"""Scores of neural networks: reconstructions, distances inside a network, any torch module."""
