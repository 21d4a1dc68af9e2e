// A Postgres server that only the apps' network can reach. Its URL goes only into the vault.
param name string
param location string
param tags object

@secure()
param password string

param networkId string
param subnetId string
param vaultName string
param skuName string = 'Standard_B1ms'
param skuTier string = 'Burstable'
param storageGb int = 32

var login = 'middlecore'
var databaseName = 'middle_core'

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

resource vault 'Microsoft.KeyVault/vaults@2026-05-15' existing = {
  name: vaultName
}

resource url 'Microsoft.KeyVault/vaults/secrets@2026-05-15' = {
  parent: vault
  name: 'database-url'
  properties: {
    value: 'postgresql://${login}:${uriComponent(password)}@${server.properties.fullyQualifiedDomainName}:5432/${databaseName}?sslmode=require'
  }
}
