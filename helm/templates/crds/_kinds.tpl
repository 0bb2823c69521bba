{{- /* Written by `npm run generate` from the schemas; do not edit. */ -}}
{{- define "model-gateway.plurals" -}}
- gatewayconfigs
- integrations
- apikeys
- ratelimitpolicies
- usagelimitpolicies
- workspaces
- guardrails
- prompts
- promptpartials
- promptversions
- promptgroups
{{- end }}
{{- define "model-gateway.statuses" -}}
- gatewayconfigs/status
- integrations/status
- apikeys/status
- ratelimitpolicies/status
- usagelimitpolicies/status
- workspaces/status
- guardrails/status
- prompts/status
- promptpartials/status
- promptversions/status
- promptgroups/status
{{- end }}
{{- define "model-gateway.crds" -}}
- gatewayconfigs.modelgateway.dev
- integrations.modelgateway.dev
- apikeys.modelgateway.dev
- ratelimitpolicies.modelgateway.dev
- usagelimitpolicies.modelgateway.dev
- workspaces.modelgateway.dev
- guardrails.modelgateway.dev
- prompts.modelgateway.dev
- promptpartials.modelgateway.dev
- promptversions.modelgateway.dev
- promptgroups.modelgateway.dev
{{- end }}
