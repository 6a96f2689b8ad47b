{{- /* YAML 1.1 reads `off` as false. */}}
{{- define "cleave.undividedOf" -}}
{{- if eq (toString .undivided) "false" }}off{{ else }}{{ .undivided }}{{ end }}
{{- end }}
{{- define "cleave.undivided" -}}
{{- include "cleave.undividedOf" .Values }}
{{- end }}

{{- /* What a pod template has in common; the argument: {of: the part of the values, root}. */}}
{{- define "cleave.pod" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .of.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .of.affinity }}
affinity:
  {{- toYaml .of.affinity | nindent 2 }}
{{- else if .of.gpuLabels }}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        {{- range .of.gpuLabels }}
        - matchExpressions: [{key: {{ . }}, operator: In, values: ["true"]}]
        {{- end }}
{{- end }}
{{- with .of.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "cleave.image" -}}
image: {{ .Values.image }}
imagePullPolicy: {{ .Values.imagePullPolicy }}
{{- end }}

{{- define "cleave.nodeOfToken" -}}
- name: node
  expression: >-
    has(request.userInfo.extra) &&
    "authentication.kubernetes.io/node-name" in request.userInfo.extra ?
    request.userInfo.extra["authentication.kubernetes.io/node-name"][0] : ""
{{- end }}

{{- /* The version of resource.k8s.io: 1.34 has v1, 1.33 v1beta2, 1.32 v1beta1. */}}
{{- define "cleave.resourceApi" -}}
{{- $cluster := .Capabilities.KubeVersion.Version }}
{{- if semverCompare "<1.32-0" $cluster }}
{{- fail (printf "dra needs Kubernetes 1.32 or later, and this is %s" $cluster) }}
{{- end }}
{{- if .Values.dra.apiVersion }}{{ .Values.dra.apiVersion }}
{{- else if semverCompare ">=1.34-0" $cluster }}v1
{{- else if semverCompare ">=1.33-0" $cluster }}v1beta2
{{- else }}v1beta1{{ end }}
{{- end }}

{{- define "cleave.scrape" -}}
port: api
path: /metrics
scheme: https
interval: {{ .Values.metrics.interval }}
relabelings:
  # An address of a pod ends with the pod: the instance is the node.
  - {sourceLabels: [__meta_kubernetes_pod_node_name], targetLabel: instance}
tlsConfig:
  {{- toYaml .Values.metrics.tlsConfig | nindent 2 }}
authorization:
  credentials: {name: {{ .Values.metrics.tokenSecret }}, key: token}
{{- end }}

{{- /* Whether containers request share and memory together, by all sections of settings. */}}
{{- define "cleave.pairs" -}}
{{- $modes := dict (include "cleave.undivided" .) true }}
{{- range .Values.nodeSettings }}
{{- if hasKey . "undivided" }}
{{- $_ := set $modes (include "cleave.undividedOf" .) true }}
{{- end }}
{{- end }}
{{- if not (hasKey $modes "both") }}refused{{ else if eq (len $modes) 1 }}required{{ else }}any{{ end }}
{{- end }}

{{- define "cleave.webhookSettings" -}}
version: 1
pairs: {{ include "cleave.pairs" . }}
{{- $units := dict (toString .Values.memoryUnit) true }}
{{- range .Values.nodeSettings }}
{{- with .memoryUnit }}{{ $_ := set $units . true }}{{ end }}
{{- end }}
{{- if and .Values.memoryUnit (eq (len $units) 1) }}
memory-unit: {{ .Values.memoryUnit }}
{{- end }}
{{- with .Values.webhook }}
{{- with .deviceMemory }}
device-memory: {{ . }}
{{- end }}
{{- with .largestDeviceMemory }}
largest-device-memory: {{ . }}
{{- end }}
{{- with .runtimeClassName | default $.Values.runtimeClassName }}
runtime-class: {{ . }}
{{- end }}
{{- with .schedulerName }}
scheduler: {{ . }}
{{- end }}
{{- with .classes }}
{{- if not $.Values.podClasses }}
{{- fail "webhook.classes: the nodes read them with podClasses: true" }}
{{- end }}
classes: {{ . | toJson }}
{{- end }}
{{- end }}
{{- end }}
