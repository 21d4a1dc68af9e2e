// middle-core on Azure Container Apps: a page, the service behind it, and what both need.
//
// The first time, deploy twice. Without images only registry, vault, environment and database are made, so that the images can be pushed
// and the model's key can be put into the vault. With images, the two apps follow. docs/deployment.md has the steps and the reason for each
// number. `python -m infra.checks` compares this file with the settings of the program.
targetScope = 'resourceGroup'

@description('Name of this installation; part of each resource\'s name and tag.')
@minLength(2)
@maxLength(24)
param environmentName string

param location string = resourceGroup().location

@description('The person who deploys; may write secrets into the vault. Empty: nobody gets that right here.')
param principalId string = ''

@description('Image of middle_core, with its tag. Empty: no app is deployed yet.')
param apiImage string = ''

@description('Image of frontend_core, with its tag. Empty: no app is deployed yet.')
param webImage string = ''

@description('Where the event log is. sqlite: in the one replica, and lost with it. postgres: a server of its own.')
@allowed(['sqlite', 'postgres'])
param database string

@description('Password of the database\'s administrator. Only with postgres.')
@secure()
param databasePassword string = ''

@description('Minimum of replicas of the service. With sqlite it is always 1.')
@minValue(1)
@maxValue(30)
param apiMinReplicas int

@description('Maximum of replicas of the service. With sqlite it is always 1.')
@minValue(1)
@maxValue(30)
param apiMaxReplicas int

@minValue(1)
@maxValue(30)
param webMaxReplicas int

@description('Ingress on nodes of its own, so that idle timeout and grace can be set. Costs two D4 nodes.')
param premiumIngress bool

@description('Minutes of silence after which the premium ingress cuts a request.')
@minValue(4)
@maxValue(30)
param requestIdleMinutes int = 4

@description('The issuer\'s key set, which verifies tokens.')
param jwksUrl string

param jwtIssuer string
param jwtAudience string

@description('Address of backend-core.')
param backendUrl string

@description('`cerebras:<name>`; empty: the program\'s default.')
param model string = ''

var tags = { 'azd-env-name': environmentName }
var token = toLower(uniqueString(resourceGroup().id, environmentName))
var withApps = !empty(apiImage) && !empty(webImage)
var withPostgres = database == 'postgres'

module network 'modules/network.bicep' = {
  name: 'network'
  params: {
    name: 'vnet-${token}'
    location: location
    tags: tags
  }
}

module observability 'modules/observability.bicep' = {
  name: 'observability'
  params: {
    name: 'log-${token}'
    location: location
    tags: tags
  }
}

module registry 'modules/registry.bicep' = {
  name: 'registry'
  params: {
    name: 'cr${token}'
    location: location
    tags: tags
  }
}

module vault 'modules/vault.bicep' = {
  name: 'vault'
  params: {
    name: 'kv-${token}'
    location: location
    tags: tags
    principalId: principalId
  }
}

module apiIdentity 'modules/identity.bicep' = {
  name: 'api-identity'
  params: {
    name: 'id-api-${token}'
    location: location
    tags: tags
    registryName: registry.outputs.name
    vaultName: vault.outputs.name
    readsSecrets: true
  }
}

// The page's identity may only pull its image, because the model's key stays in the middle tier.
module webIdentity 'modules/identity.bicep' = {
  name: 'web-identity'
  params: {
    name: 'id-web-${token}'
    location: location
    tags: tags
    registryName: registry.outputs.name
    vaultName: vault.outputs.name
    readsSecrets: false
  }
}

module postgres 'modules/postgres.bicep' = if (withPostgres) {
  name: 'postgres'
  params: {
    name: 'psql-${token}'
    location: location
    tags: tags
    password: databasePassword
    networkId: network.outputs.id
    subnetId: network.outputs.databaseSubnetId
    vaultName: vault.outputs.name
  }
}

module environment 'modules/environment.bicep' = {
  name: 'environment'
  params: {
    name: 'cae-${token}'
    location: location
    tags: tags
    workspaceName: observability.outputs.name
    subnetId: network.outputs.appsSubnetId
    premiumIngress: premiumIngress
    requestIdleMinutes: requestIdleMinutes
  }
}

module api 'modules/api.bicep' = if (withApps) {
  name: 'api'
  params: {
    name: 'api-${token}'
    location: location
    tags: tags
    environmentId: environment.outputs.id
    identityId: apiIdentity.outputs.id
    registryServer: registry.outputs.server
    vaultUri: vault.outputs.uri
    image: apiImage
    database: database
    minReplicas: apiMinReplicas
    maxReplicas: apiMaxReplicas
    jwksUrl: jwksUrl
    jwtIssuer: jwtIssuer
    jwtAudience: jwtAudience
    backendUrl: backendUrl
    model: model
  }
  dependsOn: [postgres]
}

module web 'modules/web.bicep' = if (withApps) {
  name: 'web'
  params: {
    name: 'web-${token}'
    location: location
    tags: tags
    environmentId: environment.outputs.id
    identityId: webIdentity.outputs.id
    registryServer: registry.outputs.server
    image: webImage
    apiUrl: api!.outputs.url
    maxReplicas: webMaxReplicas
  }
}

// A job cannot reach SQLite inside the replica; there the service migrates its own schema.
module migration 'modules/migration.bicep' = if (withApps && withPostgres) {
  name: 'migration'
  params: {
    name: 'migrate-${token}'
    location: location
    tags: tags
    environmentId: environment.outputs.id
    identityId: apiIdentity.outputs.id
    registryServer: registry.outputs.server
    vaultUri: vault.outputs.uri
    image: apiImage
  }
}

// azd puts these into its environment, and infra/hooks/preprovision.sh reads them there.
output AZURE_CONTAINER_REGISTRY_NAME string = registry.outputs.name
output AZURE_CONTAINER_REGISTRY_ENDPOINT string = registry.outputs.server
output KEY_VAULT_NAME string = vault.outputs.name
output API_APP string = 'api-${token}'
output WEB_APP string = 'web-${token}'
output MIGRATION_JOB string = withPostgres ? 'migrate-${token}' : ''
output WEB_URL string = withApps ? web!.outputs.url : ''
