"""Learning from traffic: recordings and transcripts, what they hold, and which rules they suggest."""
