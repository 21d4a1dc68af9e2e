"""Checks of what is deployed, without Azure at hand: Bicep is read, worked out and held to Azure's models and to our settings."""
