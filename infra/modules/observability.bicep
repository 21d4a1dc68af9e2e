// Collects the log lines of all replicas. The program writes one JSON object a line to stderr.
param name string
param location string
param tags object

@description('Days that log lines are kept.')
param retentionDays int = 30

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-07-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    sku: { name: 'PerGB2018' }
    retentionInDays: retentionDays
  }
}

output name string = workspace.name
