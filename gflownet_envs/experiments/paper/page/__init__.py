"""The page: its pictures, its tables, and the HTML around them."""
