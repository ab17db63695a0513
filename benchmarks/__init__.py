"""What the hot paths cost, as ratios to a floor measured in the same run. `make bench` runs them all."""
