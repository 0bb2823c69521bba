{{- /* Written by `npm run generate` from the schemas; do not edit. */ -}}
{{- define "model-gateway.plurals" -}}
- gatewayconfigs
- integrations
- apikeys
{{- end }}
{{- define "model-gateway.statuses" -}}
- gatewayconfigs/status
- integrations/status
- apikeys/status
{{- end }}
{{- define "model-gateway.crds" -}}
- gatewayconfigs.modelgateway.dev
- integrations.modelgateway.dev
- apikeys.modelgateway.dev
{{- end }}
