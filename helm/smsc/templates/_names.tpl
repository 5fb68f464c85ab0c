{{/* Names, labels and checks that every template uses. */}}

{{- define "smsc.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "smsc.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := include "smsc.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "smsc.selector" -}}
app.kubernetes.io/name: {{ include "smsc.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "smsc.labels" -}}
{{ include "smsc.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The selector of the pods that serve: neither Jobs nor tests. */}}
{{- define "smsc.podSelector" -}}
{{ include "smsc.selector" . }}
app.kubernetes.io/component: node
{{- end }}

{{- define "smsc.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "smsc.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "smsc.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* http, or https with a certificate in the configuration. */}}
{{- define "smsc.scheme" -}}
{{- if dig "http" "tls_cert" "" .Values.config }}https{{ else }}http{{ end }}
{{- end }}

{{/* Where the Jobs and `helm test` reach the admin API. */}}
{{- define "smsc.url" -}}
{{- $own := printf "%s://%s-http:%d" (include "smsc.scheme" .) (include "smsc.fullname" .) (int .Values.service.http.port) }}
{{- default $own .Values.service.http.url }}
{{- end }}

{{- define "smsc.isCluster" -}}
{{- if eq .Values.mode "cluster" }}yes{{ end }}
{{- end }}

{{/* Pods with a name and a volume of their own. */}}
{{- define "smsc.isStateful" -}}
{{- if or (not (include "smsc.isCluster" .)) .Values.persistence.enabled }}yes{{ end }}
{{- end }}

{{/* Nodes. With a HorizontalPodAutoscaler, as many as there are: without a number there would be one. */}}
{{- define "smsc.replicas" -}}
{{- if not (include "smsc.isCluster" .) }}1
{{- else if .Values.autoscaling.enabled }}{{ include "smsc.scaledReplicas" . }}
{{- else }}{{ default 3 .Values.replicaCount }}
{{- end }}
{{- end }}

{{/* Whether pods outside of the release's namespace are to reach the admin API or the metrics. */}}
{{- define "smsc.isHttpReachedFromPods" -}}
{{- $http := .Values.service.http }}
{{- if or .Values.metrics.serviceMonitor.enabled $http.ingress.enabled $http.httpRoute.enabled }}yes{{ end }}
{{- end }}
