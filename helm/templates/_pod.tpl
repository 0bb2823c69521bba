{{- /* Fields of a pod that do not depend on what it does. Takes root, component, values, token. */ -}}
{{- define "model-gateway.podFields" -}}
serviceAccountName: {{ include "model-gateway.fullname" .root }}-{{ .component }}
automountServiceAccountToken: {{ .token }}
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "model-gateway.podSecurity" .root | nindent 0 }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- $selector := include "model-gateway.selector" . }}
{{- $spread := .values.topologySpread }}
{{- with $spread.topologyKeys }}
topologySpreadConstraints:
  {{- range . }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: {{ $spread.whenUnsatisfiable }}
    labelSelector:
      matchLabels: {{- $selector | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
{{- end }}

{{- /* What the pod security standard `restricted` asks of a pod. */ -}}
{{- define "model-gateway.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  {{- with .Values.runAsUser }}
  runAsUser: {{ int64 . }}
  runAsGroup: {{ int64 . }}
  fsGroup: {{ int64 . }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- /* And of a container. */ -}}
{{- define "model-gateway.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- /* Image, ports' probes, environment and limits of a container. Takes root, values. */ -}}
{{- define "model-gateway.containerFields" -}}
image: {{ include "model-gateway.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- include "model-gateway.containerSecurity" . | nindent 0 }}
resources: {{- toYaml .values.resources | nindent 2 }}
startupProbe:
  httpGet: { path: /healthz, port: admin }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: admin }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: admin }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
terminationMessagePolicy: FallbackToLogsOnError
{{- end }}

{{- /* Metadata of a pod's template. Takes root, component, values. */ -}}
{{- define "model-gateway.podMetadata" -}}
metadata:
  labels:
    {{- with .values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- include "model-gateway.labels" . | nindent 4 }}
  {{- with .values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
