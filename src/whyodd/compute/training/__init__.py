"""The dual problem of one-class support vector machines."""
