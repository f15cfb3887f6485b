"""The page that shows what shaping saved and what it left out: live in a browser, or as one file."""
