"""Linear maps, metrics and hard poolings: small frozen classes whose methods are the formulas."""
