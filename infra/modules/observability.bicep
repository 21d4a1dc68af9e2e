// Where the log lines of all replicas end up: one JSON object a line, written to stderr by the program.
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
