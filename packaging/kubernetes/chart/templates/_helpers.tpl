{{- /* YAML 1.1 reads `off` as false. */}}
{{- define "cleave.undivided" -}}
{{- if eq (toString .Values.undivided) "false" }}off{{ else }}{{ .Values.undivided }}{{ end }}
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
tlsConfig:
  {{- toYaml .Values.metrics.tlsConfig | nindent 2 }}
authorization:
  credentials: {name: {{ .Values.metrics.tokenSecret }}, key: token}
{{- end }}
