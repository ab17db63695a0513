"""Search: from pages of the tables to ranked answers. The process alone; `backends/` knows the index itself."""
