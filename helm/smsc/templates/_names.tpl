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

{{- define "smsc.url" -}}
{{- printf "%s://%s-http:%d" (include "smsc.scheme" .) (include "smsc.fullname" .) (int .Values.service.http.port) }}
{{- end }}

{{- define "smsc.isCluster" -}}
{{- if eq .Values.mode "cluster" }}yes{{ end }}
{{- end }}

{{/* Pods with a name and a volume of their own. */}}
{{- define "smsc.isStateful" -}}
{{- if or (not (include "smsc.isCluster" .)) .Values.persistence.enabled }}yes{{ end }}
{{- end }}

{{/* What the schema cannot say: values that contradict each other. */}}
{{- define "smsc.check" -}}
{{- $cluster := include "smsc.isCluster" . }}
{{- if and .Values.service.smppTls.enabled (not .Values.service.smppTls.secretName) }}
{{- fail "service.smppTls.secretName: is empty; name the Secret with tls.crt and tls.key, or set service.smppTls.enabled to false" }}
{{- end }}
{{- if and .Values.service.sgip.clientCertificates (not .Values.service.sgip.tlsSecretName) }}
{{- fail "service.sgip.tlsSecretName: is empty; name the Secret with tls.crt, tls.key and ca.crt, or set service.sgip.clientCertificates to false" }}
{{- end }}
{{- if and (not $cluster) .Values.autoscaling.enabled }}
{{- fail "autoscaling.enabled: the embedded store has exactly one node; set mode: cluster, or autoscaling.enabled: false" }}
{{- end }}
{{- if and (not $cluster) (not .Values.persistence.enabled) }}
{{- fail "persistence.enabled: the embedded store would be lost with its pod; set it to true, or mode: cluster" }}
{{- end }}
{{- if and (not $cluster) .Values.redis.enabled }}
{{- fail "redis.enabled: one node has nobody to share limits with; set mode: cluster, or redis.enabled: false" }}
{{- end }}
{{- if and .Values.tracing.enabled (not .Values.tracing.endpoint) }}
{{- fail "tracing.endpoint: is empty; write where the collector is, such as http://tempo:4317, or tracing.enabled: false" }}
{{- end }}
{{- if and .Values.autoscaling.enabled (not .Values.autoscaling.targetCPUUtilizationPercentage) (not .Values.autoscaling.queueAge.enabled) }}
{{- fail "autoscaling: scales on nothing; set targetCPUUtilizationPercentage or queueAge.enabled" }}
{{- end }}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) }}
{{- fail "autoscaling.minReplicas: is greater than autoscaling.maxReplicas" }}
{{- end }}
{{- $least := add (int .Values.preStopSeconds) 40 }}
{{- if lt (int .Values.terminationGracePeriodSeconds) (int $least) }}
{{- fail (printf "terminationGracePeriodSeconds: must be at least preStopSeconds + 40 = %d, or a drain is cut off" (int $least)) }}
{{- end }}
{{- end }}
