{{- /* What all names begin with: the `--release` of operator and gateway. */ -}}
{{- define "model-gateway.fullname" -}}
{{- .Values.fullnameOverride | default .Release.Name -}}
{{- end }}

{{- /* Name of what is not in the release's namespace: unique in the cluster. A name of an object cannot hold a colon. */ -}}
{{- define "model-gateway.clusterName" -}}
modelgateway.dev:{{ .Release.Namespace }}:{{ include "model-gateway.fullname" . }}
{{- end }}

{{- /* Labels that select; with `component`, the pods of it. */ -}}
{{- define "model-gateway.selector" -}}
app.kubernetes.io/name: model-gateway
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- /* Labels of every object. */ -}}
{{- define "model-gateway.labels" -}}
{{ include "model-gateway.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: model-gateway
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "model-gateway.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{ .Values.image.repository }}:{{ $tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* Names of the snapshot's ConfigMaps. */ -}}
{{- define "model-gateway.snapshotConfigMaps" -}}
{{- $release := include "model-gateway.fullname" . -}}
- {{ $release }}-snapshot-index
{{- range $n := until (int .Values.snapshot.maxShards) }}
- {{ $release }}-snapshot-{{ $n }}
{{- end }}
{{- end }}

{{- /* Names of Secrets of some kinds. Takes root, kinds. */ -}}
{{- define "model-gateway.shardSecrets" -}}
{{- $root := .root -}}
{{- $names := list -}}
{{- range $kind := .kinds -}}
{{- range $n := until (int $root.Values.snapshot.maxShards) -}}
{{- $names = append $names (printf "%s-%s-%d" (include "model-gateway.fullname" $root) $kind $n) -}}
{{- end -}}
{{- end -}}
{{- toYaml $names -}}
{{- end }}

{{- /* Names of the snapshot's Secrets. */ -}}
{{- define "model-gateway.snapshotSecrets" -}}
{{- include "model-gateway.shardSecrets" (dict "root" . "kinds" (list "credentials" "keys")) -}}
{{- end }}

{{- /* And of those that the operator keeps for itself. */ -}}
{{- define "model-gateway.operatorSecrets" -}}
{{- include "model-gateway.shardSecrets" (dict "root" . "kinds" (list "accepted")) -}}
{{- end }}

{{- /*
"true" where the release brings the CRD `name`. One that another release or another tool owns is left alone, so that two
releases in one cluster do not collide; notes tell of it.
*/ -}}
{{- define "model-gateway.installsCrd" -}}
{{- $ours := false -}}
{{- if .root.Values.crds.install -}}
{{- $crd := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" .name -}}
{{- $name := dig "metadata" "annotations" "meta.helm.sh/release-name" "" $crd -}}
{{- $namespace := dig "metadata" "annotations" "meta.helm.sh/release-namespace" "" $crd -}}
{{- $ours = or (not $crd) (and (eq $name .root.Release.Name) (eq $namespace .root.Release.Namespace)) -}}
{{- end -}}
{{- $ours -}}
{{- end }}
