"""Search: what is made of crawled pages, so that they can be found. Pure: files and drivers are in `backends/`."""
