"""Results: relevance in the variables that people know, as sentences, frames and views."""
