"""How middle-core is deployed: Bicep, other fronts, and the checks of both."""
