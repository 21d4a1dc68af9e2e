"""Where middle-core runs: Bicep, other fronts, and the checks that keep them true."""
