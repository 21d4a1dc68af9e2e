// For a try. The log is in the replica, so a new revision, or a replica that the platform moves, starts empty.
using 'main.bicep'

param environmentName = readEnvironmentVariable('AZURE_ENV_NAME')
param location = readEnvironmentVariable('AZURE_LOCATION')
param principalId = readEnvironmentVariable('AZURE_PRINCIPAL_ID', '')
param apiImage = readEnvironmentVariable('API_IMAGE', '')
param webImage = readEnvironmentVariable('WEB_IMAGE', '')

param database = 'sqlite'
param apiMinReplicas = 1
param apiMaxReplicas = 1
param webMaxReplicas = 2
param premiumIngress = false

param jwksUrl = readEnvironmentVariable('MIDDLE_CORE_JWKS_URL')
param jwtIssuer = readEnvironmentVariable('MIDDLE_CORE_JWT_ISSUER')
param jwtAudience = readEnvironmentVariable('MIDDLE_CORE_JWT_AUDIENCE')
param backendUrl = readEnvironmentVariable('MIDDLE_CORE_BACKEND_URL')
param model = readEnvironmentVariable('MIDDLE_CORE_MODEL', '')
