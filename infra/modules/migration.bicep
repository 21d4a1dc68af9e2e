// Migrates the database's schema to the version of the image. A person or the deploy hook starts it before the apps get that image.
param name string
param location string
param tags object
param environmentId string
param identityId string
param registryServer string
param vaultUri string
param image string

resource migration 'Microsoft.App/jobs@2025-07-01' = {
  name: name
  location: location
  tags: tags
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    environmentId: environmentId
    workloadProfileName: 'Consumption'
    configuration: {
      triggerType: 'Manual'
      manualTriggerConfig: { parallelism: 1, replicaCompletionCount: 1 }
      replicaTimeout: 1800
      // Running twice is safe, but a person must look at a schema that does not fit.
      replicaRetryLimit: 0
      registries: [
        { server: registryServer, identity: identityId }
      ]
      secrets: [
        { name: 'database-url', keyVaultUrl: '${vaultUri}secrets/database-url', identity: identityId }
        { name: 'database-direct-url', keyVaultUrl: '${vaultUri}secrets/database-direct-url', identity: identityId }
      ]
    }
    template: {
      containers: [
        {
          name: 'migrate'
          image: image
          command: ['python', '-m', 'middle_core', 'migrate']
          resources: { cpu: json('0.5'), memory: '1Gi' }
          env: [
            { name: 'MIDDLE_CORE_DATABASE_URL', secretRef: 'database-url' }
            { name: 'MIDDLE_CORE_DATABASE_DIRECT_URL', secretRef: 'database-direct-url' }
          ]
        }
      ]
    }
  }
}
