#!/bin/sh
# Runs before each `azd provision`. It builds the images of this commit in the registry, migrates the database's schema to their version,
# and tells the parameters their names. If there is no registry yet, it does nothing: this provision makes the registry.
set -eu

if [ -z "${AZURE_CONTAINER_REGISTRY_NAME:-}" ]; then
  echo "There is no registry yet: this provision lays the ground. Put the model's key into the vault after it, and provision again."
  exit 0
fi

if ! az keyvault secret show --vault-name "$KEY_VAULT_NAME" --name cerebras-api-key --query id --output tsv >/dev/null; then
  echo "The vault $KEY_VAULT_NAME has no secret cerebras-api-key that you may read; the service would not start. Put it there:" >&2
  echo "  az keyvault secret set --vault-name $KEY_VAULT_NAME --name cerebras-api-key --file FILE" >&2
  exit 1
fi

if [ -n "$(git status --porcelain)" ]; then
  echo "There are changes that are not committed. An image is named after its commit, so commit them first." >&2
  exit 1
fi
tag=$(git rev-parse --short=12 HEAD)
api="middle-core/api:$tag"
web="middle-core/web:$tag"
az acr build --registry "$AZURE_CONTAINER_REGISTRY_NAME" --image "$api" --file infra/images/middle_core.Dockerfile .
az acr build --registry "$AZURE_CONTAINER_REGISTRY_NAME" --image "$web" --file infra/images/frontend_core.Dockerfile .

# The job exists from the second deployment with Postgres on. Before that, the first replica makes the schema.
job="${MIGRATION_JOB:-}"
if [ -n "$job" ] && [ -n "${API_IMAGE:-}" ]; then
  image="$AZURE_CONTAINER_REGISTRY_ENDPOINT/$api"
  az containerapp job update --name "$job" --resource-group "$AZURE_RESOURCE_GROUP" --image "$image" --output none
  run=$(az containerapp job start --name "$job" --resource-group "$AZURE_RESOURCE_GROUP" --query name --output tsv)
  tries=0
  status=Running
  while [ "$status" = Running ] && [ "$tries" -lt 180 ]; do
    status=$(az containerapp job execution show --name "$job" --resource-group "$AZURE_RESOURCE_GROUP" \
      --job-execution-name "$run" --query properties.status --output tsv)
    tries=$((tries + 1))
    [ "$status" != Running ] || sleep "${POLL_SECONDS:-10}"
  done
  if [ "$status" != Succeeded ]; then
    echo "The migration $run is $status. Nothing is deployed; the running version goes on. Its output is in the log workspace." >&2
    exit 1
  fi
fi

azd env set API_IMAGE "$AZURE_CONTAINER_REGISTRY_ENDPOINT/$api"
azd env set WEB_IMAGE "$AZURE_CONTAINER_REGISTRY_ENDPOINT/$web"
