"""Checks of the deployment, without Azure: the Bicep is read, evaluated, and compared with Azure's models and with our settings."""
