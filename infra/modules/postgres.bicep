// A Postgres server that only the apps' network can reach. Its URL goes only into the vault.
param name string
param location string
param tags object

@secure()
param password string

param networkId string
param subnetId string
param vaultName string

@description('The smallest server with a PgBouncer of its own. A burstable one has none, and 35 connections for everybody.')
param skuName string = 'Standard_D2ds_v5'
param skuTier string = 'GeneralPurpose'
param storageGb int = 32

var login = 'middlecore'
var databaseName = 'middle_core'
var withBouncer = skuTier != 'Burstable'

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = {
  name: '${name}.private.postgres.database.azure.com'
  location: 'global'
  tags: tags
}

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = {
  parent: zone
  name: 'apps'
  location: 'global'
  properties: {
    registrationEnabled: false
    virtualNetwork: { id: networkId }
  }
}

resource server 'Microsoft.DBforPostgreSQL/flexibleServers@2026-10-01' = {
  name: name
  location: location
  tags: tags
  sku: { name: skuName, tier: skuTier }
  properties: {
    version: '17'
    administratorLogin: login
    administratorLoginPassword: password
    storage: { storageSizeGB: storageGb, autoGrow: 'Enabled' }
    backup: { backupRetentionDays: 14, geoRedundantBackup: 'Disabled' }
    network: {
      delegatedSubnetResourceId: subnetId
      privateDnsZoneArmResourceId: zone.id
    }
  }
  dependsOn: [link]
}

resource log 'Microsoft.DBforPostgreSQL/flexibleServers/databases@2026-10-01' = {
  parent: server
  name: databaseName
  properties: {
    charset: 'UTF8'
    collation: 'en_US.utf8'
  }
}

// In transaction mode on port 6432, so that replicas and server connections are counted apart.
resource bouncer 'Microsoft.DBforPostgreSQL/flexibleServers/configurations@2026-10-01' = if (withBouncer) {
  parent: server
  name: 'pgbouncer.enabled'
  properties: {
    value: 'true'
    source: 'user-override'
  }
  dependsOn: [log]
}

resource vault 'Microsoft.KeyVault/vaults@2026-05-15' existing = {
  name: vaultName
}

resource url 'Microsoft.KeyVault/vaults/secrets@2026-05-15' = {
  parent: vault
  name: 'database-url'
  properties: {
    value: withBouncer
      ? 'postgresql://${login}:${uriComponent(password)}@${server.properties.fullyQualifiedDomainName}:6432/${databaseName}?sslmode=require&pgbouncer=true'
      : 'postgresql://${login}:${uriComponent(password)}@${server.properties.fullyQualifiedDomainName}:5432/${databaseName}?sslmode=require'
  }
}

// Past the PgBouncer: it carries no notification.
resource directUrl 'Microsoft.KeyVault/vaults/secrets@2026-05-15' = {
  parent: vault
  name: 'database-direct-url'
  properties: {
    value: 'postgresql://${login}:${uriComponent(password)}@${server.properties.fullyQualifiedDomainName}:5432/${databaseName}?sslmode=require'
  }
}
