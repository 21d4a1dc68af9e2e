// Application Gateway in front of the page. By default it collects a response before it sends any of it on; that is switched off here.
param name string
param location string = resourceGroup().location

@description('Subnet for the gateway and nothing else.')
param subnetId string

@description('Host name of the page behind the gateway.')
param webHost string

@description('Secret of the certificate in the vault, and the identity that may read it.')
param certificateSecretId string
param identityId string

@description('Seconds that a backend may be silent. More than two heartbeats of the page (10 s).')
param requestTimeoutSeconds int = 60

var id = resourceId('Microsoft.Network/applicationGateways', name)

resource address 'Microsoft.Network/publicIPAddresses@2026-03-01' = {
  name: '${name}-ip'
  location: location
  sku: { name: 'Standard' }
  properties: { publicIPAllocationMethod: 'Static' }
}

resource gateway 'Microsoft.Network/applicationGateways@2026-03-01' = {
  name: name
  location: location
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    sku: { name: 'Standard_v2', tier: 'Standard_v2' }
    autoscaleConfiguration: { minCapacity: 1, maxCapacity: 4 }
    globalConfiguration: {
      enableRequestBuffering: true
      enableResponseBuffering: false
    }
    gatewayIPConfigurations: [
      { name: 'gateway', properties: { subnet: { id: subnetId } } }
    ]
    frontendIPConfigurations: [
      { name: 'public', properties: { publicIPAddress: { id: address.id } } }
    ]
    frontendPorts: [
      { name: 'https', properties: { port: 443 } }
    ]
    sslCertificates: [
      { name: 'page', properties: { keyVaultSecretId: certificateSecretId } }
    ]
    backendAddressPools: [
      { name: 'web', properties: { backendAddresses: [{ fqdn: webHost }] } }
    ]
    probes: [
      {
        name: 'page'
        properties: {
          protocol: 'Https'
          path: '/'
          interval: 10
          timeout: 5
          unhealthyThreshold: 3
          pickHostNameFromBackendHttpSettings: true
        }
      }
    ]
    backendHttpSettingsCollection: [
      {
        name: 'streaming'
        properties: {
          port: 443
          protocol: 'Https'
          pickHostNameFromBackendAddress: true
          requestTimeout: requestTimeoutSeconds
          connectionDraining: { enabled: true, drainTimeoutInSec: 30 }
          probe: { id: '${id}/probes/page' }
        }
      }
    ]
    httpListeners: [
      {
        name: 'https'
        properties: {
          frontendIPConfiguration: { id: '${id}/frontendIPConfigurations/public' }
          frontendPort: { id: '${id}/frontendPorts/https' }
          protocol: 'Https'
          sslCertificate: { id: '${id}/sslCertificates/page' }
        }
      }
    ]
    requestRoutingRules: [
      {
        name: 'all'
        properties: {
          ruleType: 'Basic'
          priority: 100
          httpListener: { id: '${id}/httpListeners/https' }
          backendAddressPool: { id: '${id}/backendAddressPools/web' }
          backendHttpSettings: { id: '${id}/backendHttpSettingsCollection/streaming' }
        }
      }
    ]
  }
}
