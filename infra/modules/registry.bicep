// The images. No admin account: the apps pull with their identities, people push with their own.
param name string
param location string
param tags object

resource registry 'Microsoft.ContainerRegistry/registries@2025-11-01' = {
  name: name
  location: location
  tags: tags
  sku: { name: 'Basic' }
  properties: {
    adminUserEnabled: false
  }
}

output name string = registry.name
output server string = registry.properties.loginServer
