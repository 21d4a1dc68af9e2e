// The environment. Its Envoy is the ingress of the page and of the service.
param name string
param location string
param tags object
param workspaceName string
param subnetId string

@description('Ingress on nodes of its own, so that idle timeout and grace can be set.')
param premiumIngress bool

@minValue(4)
@maxValue(30)
param requestIdleMinutes int

@description('Seconds in which open requests may end when a node of the ingress stops. More than the grace of the apps.')
@minValue(0)
@maxValue(3600)
param ingressGraceSeconds int = 600

var ingressProfile = 'ingress'
var consumption = [
  { name: 'Consumption', workloadProfileType: 'Consumption' }
]
// A premium ingress needs at least two nodes.
var dedicated = [
  { name: ingressProfile, workloadProfileType: 'D4', minimumCount: 2, maximumCount: 4 }
]
var ownIngress = {
  workloadProfileName: ingressProfile
  requestIdleTimeout: requestIdleMinutes
  terminationGracePeriodSeconds: ingressGraceSeconds
}

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-07-01' existing = {
  name: workspaceName
}

resource environment 'Microsoft.App/managedEnvironments@2025-07-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    vnetConfiguration: {
      infrastructureSubnetId: subnetId
      internal: false
    }
    appLogsConfiguration: {
      destination: 'log-analytics'
      logAnalyticsConfiguration: {
        customerId: workspace.properties.customerId
        sharedKey: workspace.listKeys().primarySharedKey
      }
    }
    workloadProfiles: premiumIngress ? concat(consumption, dedicated) : consumption
    ingressConfiguration: premiumIngress ? ownIngress : null
  }
}

output id string = environment.id
