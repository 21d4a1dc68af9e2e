// All parts in one container group with nginx in front, for places without Container Apps. One replica; its log is lost with the
// group. The address is private, because TLS belongs to another front, such as application-gateway.bicep.
param name string
param location string = resourceGroup().location
param subnetId string
param registryServer string
param identityId string
param apiImage string
param webImage string
param nginxImage string = 'nginx:1.29.4-alpine'
param jwksUrl string
param jwtIssuer string
param jwtAudience string
param backendUrl string

@description('The caller takes it out of a vault; a container group cannot refer to a vault itself.')
@secure()
param cerebrasApiKey string

@description('Seconds in which runs may finish after SIGTERM. SIGKILL comes after 30.')
param drainSeconds int = 20

var port = 8080

resource group 'Microsoft.ContainerInstance/containerGroups@2023-05-01' = {
  name: name
  location: location
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    osType: 'Linux'
    restartPolicy: 'Always'
    subnetIds: [{ id: subnetId }]
    ipAddress: {
      type: 'Private'
      ports: [{ port: port, protocol: 'TCP' }]
    }
    imageRegistryCredentials: [
      { server: registryServer, identity: identityId }
    ]
    containers: [
      {
        name: 'nginx'
        properties: {
          image: nginxImage
          ports: [{ port: port, protocol: 'TCP' }]
          resources: { requests: { cpu: json('0.5'), memoryInGB: json('0.5') } }
          environmentVariables: [
            { name: 'NGINX_LISTEN', value: string(port) }
            { name: 'NGINX_UPSTREAM', value: '127.0.0.1:3000' }
          ]
          volumeMounts: [{ name: 'templates', mountPath: '/etc/nginx/templates', readOnly: true }]
        }
      }
      {
        name: 'web'
        properties: {
          image: webImage
          resources: { requests: { cpu: json('0.5'), memoryInGB: json('1.0') } }
          environmentVariables: [
            { name: 'MIDDLE_CORE_URL', value: 'http://127.0.0.1:8000' }
            { name: 'PORT', value: '3000' }
          ]
          livenessProbe: { httpGet: { path: '/', port: 3000 }, initialDelaySeconds: 10, periodSeconds: 10 }
        }
      }
      {
        name: 'api'
        properties: {
          image: apiImage
          resources: { requests: { cpu: json('1.0'), memoryInGB: json('2.0') } }
          environmentVariables: [
            { name: 'MIDDLE_CORE_DATA_DIR', value: '/data' }
            { name: 'MIDDLE_CORE_JWKS_URL', value: jwksUrl }
            { name: 'MIDDLE_CORE_JWT_ISSUER', value: jwtIssuer }
            { name: 'MIDDLE_CORE_JWT_AUDIENCE', value: jwtAudience }
            { name: 'MIDDLE_CORE_BACKEND_URL', value: backendUrl }
            { name: 'MIDDLE_CORE_DRAIN_S', value: string(drainSeconds) }
            { name: 'CEREBRAS_API_KEY', secureValue: cerebrasApiKey }
          ]
          volumeMounts: [{ name: 'data', mountPath: '/data' }]
          livenessProbe: { httpGet: { path: '/healthz', port: 8000 }, initialDelaySeconds: 10, periodSeconds: 10 }
          readinessProbe: { httpGet: { path: '/readyz', port: 8000 }, periodSeconds: 5 }
        }
      }
    ]
    volumes: [
      { name: 'data', emptyDir: {} }
      { name: 'templates', secret: { 'middle-core.conf.template': base64(loadTextContent('nginx/middle-core.conf.template')) } }
    ]
  }
}

output address string = group.properties.ipAddress.ip
