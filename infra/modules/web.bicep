// frontend_core: the page and its thin proxy. The internet reaches nothing else. It holds no secret and no state.
param name string
param location string
param tags object
param environmentId string
param identityId string
param registryServer string
param image string

@description('Where middle_core answers.')
param apiUrl string

param maxReplicas int

@description('Seconds of silence before a heartbeat to the browser.')
param heartbeatSeconds int = 10

@description('Seconds of silence after which a stream from middle_core counts as dead. More than two heartbeats.')
param silenceSeconds int = 25

@description('Seconds from SIGTERM to SIGKILL. The page attaches again by itself, so this need not wait for answers.')
param graceSeconds int = 30

@description('Requests at once that start another replica.')
param requestsPerReplica int = 80

var port = 3000

resource web 'Microsoft.App/containerApps@2025-07-01' = {
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': 'web' })
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    managedEnvironmentId: environmentId
    workloadProfileName: 'Consumption'
    configuration: {
      activeRevisionsMode: 'Single'
      maxInactiveRevisions: 5
      registries: [
        { server: registryServer, identity: identityId }
      ]
      ingress: {
        external: true
        targetPort: port
        transport: 'http'
        allowInsecure: false
      }
    }
    template: {
      terminationGracePeriodSeconds: graceSeconds
      containers: [
        {
          name: 'web'
          image: image
          resources: { cpu: json('0.5'), memory: '1Gi' }
          env: [
            { name: 'MIDDLE_CORE_URL', value: apiUrl }
            { name: 'PORT', value: string(port) }
            // Timed events for the probe, which asks from the outside. middle_core wants a token for them, as always.
            { name: 'FRONTEND_CORE_DIAG', value: '1' }
            { name: 'FRONTEND_CORE_HEARTBEAT_S', value: string(heartbeatSeconds) }
            { name: 'FRONTEND_CORE_SILENCE_S', value: string(silenceSeconds) }
          ]
          probes: [
            { type: 'Startup', httpGet: { path: '/', port: port }, periodSeconds: 2, failureThreshold: 30, timeoutSeconds: 2 }
            { type: 'Liveness', httpGet: { path: '/', port: port }, periodSeconds: 10, failureThreshold: 6, timeoutSeconds: 5 }
            { type: 'Readiness', httpGet: { path: '/', port: port }, periodSeconds: 5, failureThreshold: 2, timeoutSeconds: 3 }
          ]
        }
      ]
      scale: {
        minReplicas: 1
        maxReplicas: maxReplicas
        rules: [
          { name: 'requests', http: { metadata: { concurrentRequests: string(requestsPerReplica) } } }
        ]
      }
    }
  }
}

output url string = 'https://${web.properties.configuration.ingress.fqdn}'
