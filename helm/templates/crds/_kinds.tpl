{{- /* Written by `npm run generate` from the schemas; do not edit. */ -}}
{{- define "model-gateway.plurals" -}}
- gatewayconfigs
- integrations
- apikeys
- ratelimitpolicies
- usagelimitpolicies
- workspaces
{{- end }}
{{- define "model-gateway.statuses" -}}
- gatewayconfigs/status
- integrations/status
- apikeys/status
- ratelimitpolicies/status
- usagelimitpolicies/status
- workspaces/status
{{- end }}
{{- define "model-gateway.crds" -}}
- gatewayconfigs.modelgateway.dev
- integrations.modelgateway.dev
- apikeys.modelgateway.dev
- ratelimitpolicies.modelgateway.dev
- usagelimitpolicies.modelgateway.dev
- workspaces.modelgateway.dev
{{- end }}
