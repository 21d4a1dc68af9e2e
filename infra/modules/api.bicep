// middle_core: reachable only from inside the environment. Its numbers depend on each other; docs/deployment.md has the table.
param name string
param location string
param tags object
param environmentId string
param identityId string
param registryServer string
param vaultUri string
param image string

@allowed(['sqlite', 'postgres'])
param database string

@description('Minimum of replicas. With sqlite it is always 1.')
param minReplicas int

@description('Maximum of replicas. A SQLite file serves one replica, so with sqlite it is always 1.')
param maxReplicas int

param jwksUrl string
param jwtIssuer string
param jwtAudience string
param backendUrl string
param model string

@description('Seconds of silence before a heartbeat.')
param heartbeatSeconds int = 10

@description('Seconds in which runs may finish after SIGTERM.')
param drainSeconds int = 20

@description('Seconds from SIGTERM to SIGKILL.')
param graceSeconds int = 45

@description('Requests at once that start another replica. The scaler counts open streams too low: see minReplicas.')
param requestsPerReplica int = 40

var port = 8000
var dataDir = '/data'
var withPostgres = database == 'postgres'

var modelKey = {
  name: 'cerebras-api-key'
  keyVaultUrl: '${vaultUri}secrets/cerebras-api-key'
  identity: identityId
}
var databaseUrl = {
  name: 'database-url'
  keyVaultUrl: '${vaultUri}secrets/database-url'
  identity: identityId
}
var databaseDirectUrl = {
  name: 'database-direct-url'
  keyVaultUrl: '${vaultUri}secrets/database-direct-url'
  identity: identityId
}

resource api 'Microsoft.App/containerApps@2025-07-01' = {
  name: name
  location: location
  tags: union(tags, { 'azd-service-name': 'api' })
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
      secrets: withPostgres ? [modelKey, databaseUrl, databaseDirectUrl] : [modelKey]
      ingress: {
        external: false
        targetPort: port
        // uvicorn speaks only HTTP/1.1: with http2 every request is a 502.
        transport: 'http'
        allowInsecure: false
      }
    }
    template: {
      terminationGracePeriodSeconds: graceSeconds
      containers: [
        {
          name: 'api'
          image: image
          resources: { cpu: json('1.0'), memory: '2Gi' }
          env: concat(
            [
              { name: 'MIDDLE_CORE_DATA_DIR', value: dataDir }
              { name: 'MIDDLE_CORE_JWKS_URL', value: jwksUrl }
              { name: 'MIDDLE_CORE_JWT_ISSUER', value: jwtIssuer }
              { name: 'MIDDLE_CORE_JWT_AUDIENCE', value: jwtAudience }
              { name: 'MIDDLE_CORE_BACKEND_URL', value: backendUrl }
              { name: 'MIDDLE_CORE_MODEL', value: model }
              { name: 'MIDDLE_CORE_HEARTBEAT_S', value: string(heartbeatSeconds) }
              { name: 'MIDDLE_CORE_DRAIN_S', value: string(drainSeconds) }
              { name: 'CEREBRAS_API_KEY', secretRef: 'cerebras-api-key' }
            ],
            withPostgres
              ? [
                  { name: 'MIDDLE_CORE_DATABASE_URL', secretRef: 'database-url' }
                  { name: 'MIDDLE_CORE_DATABASE_DIRECT_URL', secretRef: 'database-direct-url' }
                ]
              : []
          )
          volumeMounts: [
            { volumeName: 'data', mountPath: dataDir }
          ]
          probes: [
            // Two minutes, because a start may migrate the schema.
            { type: 'Startup', httpGet: { path: '/healthz', port: port }, periodSeconds: 2, failureThreshold: 60, timeoutSeconds: 2 }
            { type: 'Liveness', httpGet: { path: '/healthz', port: port }, periodSeconds: 10, failureThreshold: 6, timeoutSeconds: 5 }
            { type: 'Readiness', httpGet: { path: '/readyz', port: port }, periodSeconds: 5, failureThreshold: 2, timeoutSeconds: 3 }
          ]
        }
      ]
      scale: {
        // Never 0: the scaler counts open streams too low and would end replicas that stream, and a cold start shows a bare 504.
        minReplicas: withPostgres ? minReplicas : 1
        maxReplicas: withPostgres ? maxReplicas : 1
        rules: [
          { name: 'requests', http: { metadata: { concurrentRequests: string(requestsPerReplica) } } }
        ]
      }
      volumes: [
        // In the replica, and lost with it. Azure Files cannot replace it: a WAL needs shared memory and locks that a network share lacks.
        { name: 'data', storageType: 'EmptyDir' }
      ]
    }
  }
}

output url string = 'https://${api.properties.configuration.ingress.fqdn}'
