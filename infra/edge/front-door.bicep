// Front Door in front of the page. It has one route and caches nothing, because caching and its compression would collect streams.
param name string

@description('Host name of the page behind Front Door.')
param webHost string

@description('Seconds that the origin may be silent: 16 to 240. More than two heartbeats of the page (10 s).')
@minValue(16)
@maxValue(240)
param originTimeoutSeconds int = 240

resource profile 'Microsoft.Cdn/profiles@2026-10-01' = {
  name: name
  location: 'global'
  sku: { name: 'Standard_AzureFrontDoor' }
  properties: {
    originResponseTimeoutSeconds: originTimeoutSeconds
  }
}

resource endpoint 'Microsoft.Cdn/profiles/afdEndpoints@2026-10-01' = {
  parent: profile
  name: name
  location: 'global'
  properties: { enabledState: 'Enabled' }
}

resource group 'Microsoft.Cdn/profiles/originGroups@2026-10-01' = {
  parent: profile
  name: 'web'
  properties: {
    loadBalancingSettings: { sampleSize: 4, successfulSamplesRequired: 3 }
    healthProbeSettings: { probePath: '/', probeRequestType: 'HEAD', probeProtocol: 'Https', probeIntervalInSeconds: 30 }
  }
}

resource origin 'Microsoft.Cdn/profiles/originGroups/origins@2026-10-01' = {
  parent: group
  name: 'web'
  properties: {
    hostName: webHost
    originHostHeader: webHost
    httpsPort: 443
  }
}

resource route 'Microsoft.Cdn/profiles/afdEndpoints/routes@2026-10-01' = {
  parent: endpoint
  name: 'all'
  properties: {
    originGroup: { id: group.id }
    patternsToMatch: ['/*']
    supportedProtocols: ['Http', 'Https']
    httpsRedirect: 'Enabled'
    forwardingProtocol: 'HttpsOnly'
    linkToDefaultDomain: 'Enabled'
    enabledState: 'Enabled'
  }
  dependsOn: [origin]
}

output host string = endpoint.properties.hostName
