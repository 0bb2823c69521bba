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

{{- /* Where the gateway calls its upstreams: anything but the denied ranges. */ -}}
{{- define "model-gateway.upstreamRule" -}}
{{- $egress := .Values.networkPolicy.egress -}}
- to:
    {{- include "model-gateway.anyAddressBut" (concat $egress.deniedCidrs $egress.clusterCidrs) | nindent 4 }}
    {{- if not $egress.clusterCidrs }}
    # Some network plug-ins do not count pods among the addresses.
    - namespaceSelector: {}
    {{- end }}
{{- end }}
