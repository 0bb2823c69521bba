{{- /* Names are looked up at any address: a cache on the node may have a link-local one. */ -}}
{{- define "model-gateway.dnsRule" -}}
- ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
{{- end }}

{{- /* The API server, at the denied addresses of no one: its ports are those of metadata services too. */ -}}
{{- define "model-gateway.apiServerRule" -}}
{{- $policy := .Values.networkPolicy -}}
- ports:
    {{- range $policy.apiServer.ports }}
    - { port: {{ int . }}, protocol: TCP }
    {{- end }}
  to:
    {{- range $policy.apiServer.cidrs }}
    - ipBlock: { cidr: {{ . | quote }} }
    {{- else }}
    {{- include "model-gateway.anyAddressBut" $policy.egress.deniedCidrs | nindent 4 }}
    {{- end }}
{{- end }}

{{- /* Every address but those of a list of ranges. */ -}}
{{- define "model-gateway.anyAddressBut" -}}
{{- $v4 := list }}
{{- $v6 := list }}
{{- range . | uniq }}
{{- if contains ":" . }}{{ $v6 = append $v6 . }}{{ else }}{{ $v4 = append $v4 . }}{{ end }}
{{- end -}}
- ipBlock:
    cidr: 0.0.0.0/0
    {{- with $v4 }}
    except: {{- toYaml . | nindent 6 }}
    {{- end }}
- ipBlock:
    cidr: "::/0"
    {{- with $v6 }}
    except: {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}

{{- /* Where upstreams and webhooks may be: anything but the denied ranges. */ -}}
{{- define "model-gateway.outsidePeers" -}}
{{- $egress := .Values.networkPolicy.egress -}}
{{- include "model-gateway.anyAddressBut" (concat $egress.deniedCidrs $egress.clusterCidrs) }}
{{- if not $egress.clusterCidrs }}
# Some network plug-ins do not count pods among the addresses.
- namespaceSelector: {}
{{- end }}
{{- end }}

{{- /* Where the gateway calls its upstreams. */ -}}
{{- define "model-gateway.upstreamRule" -}}
- to:
    {{- include "model-gateway.outsidePeers" . | nindent 4 }}
{{- end }}

{{- /* Where the store of limits is, if that is told. */ -}}
{{- define "model-gateway.storeRule" -}}
{{- $store := .Values.networkPolicy.store -}}
{{- if and .Values.store.url $store.peers }}
- ports:
    {{- range $store.ports }}
    - { port: {{ int . }}, protocol: TCP }
    {{- end }}
  to:
    {{- toYaml $store.peers | nindent 4 }}
{{- end }}
{{- end }}

{{- /* Where alerts are posted. */ -}}
{{- define "model-gateway.alertRule" -}}
{{- $webhook := .Values.alertWebhook -}}
{{- if or $webhook.url $webhook.secret.name }}
{{- $url := urlParse ($webhook.url | default "https://any") }}
- ports: [{ port: {{ regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (ternary "80" "443" (eq $url.scheme "http")) }}, protocol: TCP }]
  to:
    {{- include "model-gateway.outsidePeers" . | nindent 4 }}
{{- end }}
{{- end }}
