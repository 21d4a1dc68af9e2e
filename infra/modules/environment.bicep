// The environment: its Envoy is the ingress of the page and of the service alike.
param name string
param location string
param tags object
param workspaceName string
param subnetId string

@description('Ingress on nodes of its own, whose idle timeout and grace can be set.')
param premiumIngress bool

@minValue(4)
@maxValue(30)
param requestIdleMinutes int

@description('Seconds that the ingress lets open requests end in when one of its nodes goes. More than the apps\' own grace.')
@minValue(0)
@maxValue(3600)
param ingressGraceSeconds int = 600

var ingressProfile = 'ingress'
var consumption = [
  { name: 'Consumption', workloadProfileType: 'Consumption' }
]
// Two nodes are the least that a premium ingress runs on.
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
