{{/* What the schema cannot say: values that contradict each other. */}}

{{- define "smsc.check" -}}
{{- include "smsc.checkMode" . }}
{{- include "smsc.checkSecrets" . }}
{{- include "smsc.checkServices" . }}
{{- include "smsc.checkTracing" . }}
{{- include "smsc.checkRunning" . }}
{{- $least := add (int .Values.preStopSeconds) 40 }}
{{- if lt (int .Values.terminationGracePeriodSeconds) (int $least) }}
{{- fail (printf "terminationGracePeriodSeconds: must be at least preStopSeconds + 40 = %d, or a drain is cut off" (int $least)) }}
{{- end }}
{{- end }}

{{/* One node or many, and their volumes. */}}
{{- define "smsc.checkMode" -}}
{{- $cluster := include "smsc.isCluster" . }}
{{- if and (not $cluster) (gt (int .Values.replicaCount) 1) }}
{{- fail (printf "replicaCount: is %d, and the embedded store has exactly one node; set mode: cluster with a PostgreSQL, or replicaCount: 1" (int .Values.replicaCount)) }}
{{- end }}
{{- if and (not $cluster) .Values.autoscaling.enabled }}
{{- fail "autoscaling.enabled: the embedded store has exactly one node; set mode: cluster, or autoscaling.enabled: false" }}
{{- end }}
{{- if and (not $cluster) (not .Values.persistence.enabled) }}
{{- fail "persistence.enabled: the embedded store would be lost with its pod; set it to true, or mode: cluster" }}
{{- end }}
{{- if and $cluster .Values.persistence.existingClaim }}
{{- fail "persistence.existingClaim: nodes in mode cluster have a volume each; leave it empty, or set mode: embedded" }}
{{- end }}
{{- if and (not $cluster) .Values.redis.enabled }}
{{- fail "redis.enabled: one node has nobody to share limits with; set mode: cluster, or redis.enabled: false" }}
{{- end }}
{{- if and .Values.autoscaling.enabled (not .Values.autoscaling.targetCPUUtilizationPercentage) (not .Values.autoscaling.queueAge.enabled) }}
{{- fail "autoscaling: scales on nothing; set targetCPUUtilizationPercentage or queueAge.enabled" }}
{{- end }}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) }}
{{- fail "autoscaling.minReplicas: is greater than autoscaling.maxReplicas" }}
{{- end }}
{{- $strategy := default "RollingUpdate" .Values.updateStrategy.type }}
{{- if and (include "smsc.isStateful" .) (eq $strategy "Recreate") }}
{{- fail "updateStrategy.type: Recreate is a strategy of Deployments, and this is a StatefulSet; write RollingUpdate or OnDelete" }}
{{- end }}
{{- if and (not (include "smsc.isStateful" .)) (eq $strategy "OnDelete") }}
{{- fail "updateStrategy.type: OnDelete is a strategy of StatefulSets, and this is a Deployment; write RollingUpdate or Recreate" }}
{{- end }}
{{- end }}

{{/* A URL that is given twice. */}}
{{- define "smsc.checkSecrets" -}}
{{- range $key := list "databaseUrl" "redisUrl" }}
{{- if and (get $.Values.secrets $key) (get $.Values.secrets (printf "%sFrom" $key)).name }}
{{- fail (printf "secrets.%s: is set, and secrets.%sFrom.name as well; keep one of them" $key $key) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "smsc.checkServices" -}}
{{- $services := .Values.service }}
{{- if and $services.smppTls.enabled (not $services.smppTls.secretName) }}
{{- fail "service.smppTls.secretName: is empty; name the Secret with tls.crt and tls.key, or set service.smppTls.enabled to false" }}
{{- end }}
{{- if and .Values.service.sgip.clientCertificates (not .Values.service.sgip.tlsSecretName) }}
{{- fail "service.sgip.tlsSecretName: is empty; name the Secret with tls.crt, tls.key and ca.crt, or set service.sgip.clientCertificates to false" }}
{{- end }}
{{- if and $services.smppTls.tcpRoute.enabled (not $services.smppTls.enabled) }}
{{- fail "service.smppTls.tcpRoute.enabled: leads to a port that is not served; set service.smppTls.enabled to true" }}
{{- end }}
{{- range $way := list "ingress" "httpRoute" }}
{{- if and (get $services.api $way).enabled (not $services.api.enabled) }}
{{- fail (printf "service.api.%s.enabled: leads to a port that is not served; set service.api.enabled to true" $way) }}
{{- end }}
{{- end }}
{{- range $name := list "smpp" "sgip" "http" "api" "smppConnector" }}
{{- $service := get $services $name }}
{{- if and $service.loadBalancerClass (ne $service.type "LoadBalancer") }}
{{- fail (printf "service.%s.loadBalancerClass: needs service.%s.type: LoadBalancer, and that is %s" $name $name $service.type) }}
{{- end }}
{{- end }}
{{- if and (gt (len $services.ipFamilies) 1) (eq (default "SingleStack" $services.ipFamilyPolicy) "SingleStack") }}
{{- fail "service.ipFamilies: names two families; set service.ipFamilyPolicy to PreferDualStack or RequireDualStack" }}
{{- end }}
{{- end }}

{{- define "smsc.checkTracing" -}}
{{- with .Values.tracing }}
{{- if and .enabled (not .endpoint) }}
{{- fail "tracing.endpoint: is empty; write where the collector is, such as http://tempo:4317, or tracing.enabled: false" }}
{{- end }}
{{- if and .tls.secretName (not (hasPrefix "https://" .endpoint)) }}
{{- fail (printf "tracing.tls.secretName: needs an endpoint with TLS, and tracing.endpoint is %q; write https://" .endpoint) }}
{{- end }}
{{- if and .tls.clientCertificate (not .tls.secretName) }}
{{- fail "tracing.tls.clientCertificate: needs tracing.tls.secretName, the Secret with tls.crt, tls.key and ca.crt" }}
{{- end }}
{{- end }}
{{- end }}
