// Production: Postgres, several replicas, an ingress with our own timeouts (docs/deployment.md).
using 'main.bicep'

param environmentName = readEnvironmentVariable('AZURE_ENV_NAME')
param location = readEnvironmentVariable('AZURE_LOCATION')
param principalId = readEnvironmentVariable('AZURE_PRINCIPAL_ID', '')
param apiImage = readEnvironmentVariable('API_IMAGE', '')
param webImage = readEnvironmentVariable('WEB_IMAGE', '')

param database = 'postgres'
param databasePassword = readEnvironmentVariable('DATABASE_PASSWORD')
param apiMinReplicas = 2
param apiMaxReplicas = 5
param webMaxReplicas = 5
param premiumIngress = true
param requestIdleMinutes = 10

param jwksUrl = readEnvironmentVariable('MIDDLE_CORE_JWKS_URL')
param jwtIssuer = readEnvironmentVariable('MIDDLE_CORE_JWT_ISSUER')
param jwtAudience = readEnvironmentVariable('MIDDLE_CORE_JWT_AUDIENCE')
param backendUrl = readEnvironmentVariable('MIDDLE_CORE_BACKEND_URL')
param model = readEnvironmentVariable('MIDDLE_CORE_MODEL', '')
