{{- /* What must hold between values; the bounds of each are the schema's. */ -}}
{{- define "model-gateway.checks" -}}
{{- $scaling := .Values.gateway.autoscaling }}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) }}
{{- fail (printf "gateway.autoscaling.minReplicas must be at most maxReplicas (%d), got %d" (int $scaling.maxReplicas) (int $scaling.minReplicas)) }}
{{- end }}
{{- if and $scaling.enabled (not (dig "requests" "cpu" "" .Values.gateway.resources)) }}
{{- fail "gateway.resources.requests.cpu is required where gateway.autoscaling.enabled: the target is a share of it" }}
{{- end }}
{{- $service := .Values.gateway.service }}
{{- if eq $service.type "ClusterIP" }}
{{- if $service.nodePort }}
{{- fail "gateway.service.nodePort needs gateway.service.type NodePort or LoadBalancer" }}
{{- end }}
{{- if ne $service.externalTrafficPolicy "Cluster" }}
{{- fail "gateway.service.externalTrafficPolicy needs gateway.service.type NodePort or LoadBalancer" }}
{{- end }}
{{- end }}
{{- if ne $service.type "LoadBalancer" }}
{{- range $field := list "loadBalancerClass" "loadBalancerSourceRanges" }}
{{- if get $service $field }}
{{- fail (printf "gateway.service.%s needs gateway.service.type LoadBalancer" $field) }}
{{- end }}
{{- end }}
{{- end }}
{{- $policy := .Values.networkPolicy }}
{{- if and $policy.enabled $policy.egress.clusterCidrs .Values.gateway.apiWatch (not $policy.apiServer.cidrs) }}
{{- fail "networkPolicy.apiServer.cidrs is required where networkPolicy.egress.clusterCidrs is given: gateways watch the API (gateway.apiWatch)" }}
{{- end }}
{{- if and $policy.enabled $policy.egress.clusterCidrs .Values.store.url (not $policy.store.peers) }}
{{- fail "networkPolicy.store.peers is required where networkPolicy.egress.clusterCidrs and store.url are given: gateways count limits there" }}
{{- end }}
{{- $store := .Values.store }}
{{- range $field := list "passwordSecret" "caSecret" }}
{{- if and (get $store $field).name (not $store.url) }}
{{- fail (printf "store.%s.name needs store.url" $field) }}
{{- end }}
{{- end }}
{{- if and $store.caSecret.name (not (hasPrefix "rediss" $store.url)) }}
{{- fail "store.caSecret.name needs a store.url that begins with rediss: without TLS there is no certificate" }}
{{- end }}
{{- if and .Values.alertWebhook.url .Values.alertWebhook.secret.name }}
{{- fail "alertWebhook.url and alertWebhook.secret.name are two ways to say one thing: leave one of them empty" }}
{{- end }}
{{- if and .Values.monitoring.rules.enabled (not .Values.monitoring.podMonitor.enabled) }}
{{- fail "monitoring.rules needs monitoring.podMonitor.enabled: alerts look for the job of the PodMonitor" }}
{{- end }}
{{- $reserved := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" }}
{{- range $component, $values := dict "operator" .Values.operator "gateway" .Values.gateway }}
{{- range $label := $reserved }}
{{- if hasKey $values.podLabels $label }}
{{- fail (printf "%s.podLabels: %s is the chart's own, by which its pods are found" $component $label) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
