// One network: the apps in one subnet, the database in another. An environment cannot change its network later.
param name string
param location string
param tags object

resource network 'Microsoft.Network/virtualNetworks@2026-03-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: ['10.60.0.0/16'] }
    subnets: [
      {
        name: 'apps'
        properties: {
          addressPrefix: '10.60.0.0/23'
          delegations: [
            { name: 'apps', properties: { serviceName: 'Microsoft.App/environments' } }
          ]
        }
      }
      {
        name: 'database'
        properties: {
          addressPrefix: '10.60.4.0/28'
          delegations: [
            { name: 'database', properties: { serviceName: 'Microsoft.DBforPostgreSQL/flexibleServers' } }
          ]
        }
      }
    ]
  }
}

output id string = network.id
output appsSubnetId string = network.properties.subnets[0].id
output databaseSubnetId string = network.properties.subnets[1].id
