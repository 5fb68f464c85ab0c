{{/*
What runs already. `helm template`, Argo CD and Flux's dry runs see nothing of it, and a first installation has nothing:
every use has an answer for that.
*/}}

{{/* An object of the release's namespace, as JSON; an empty map where there is none. List of: root, API version, kind, name. */}}
{{- define "smsc.running" -}}
{{- $root := index . 0 }}
{{- lookup (index . 1) (index . 2) $root.Release.Namespace (index . 3) | default dict | toJson }}
{{- end }}

{{/* The workload, as JSON. */}}
{{- define "smsc.runningWorkload" -}}
{{- $kind := ternary "StatefulSet" "Deployment" (eq (include "smsc.isStateful" .) "yes") }}
{{- include "smsc.running" (list . "apps/v1" $kind (include "smsc.fullname" .)) }}
{{- end }}

{{/* A checksum of the Secrets that the chart does not make, as far as they are there. */}}
{{- define "smsc.secretsOfOthers" -}}
{{- $names := list }}
{{- with .Values.secrets.existingSecret }}{{ $names = append $names . }}{{ end }}
{{- range $from := include "smsc.secretsElsewhere" . | fromJson }}{{ $names = append $names $from.name }}{{ end }}
{{- $found := dict }}
{{- range $name := $names }}
{{- $secret := include "smsc.running" (list $ "v1" "Secret" $name) | fromJson }}
{{- with $secret.data }}{{ $_ := set $found $name . }}{{ end }}
{{- end }}
{{- if $found }}{{ toJson $found | sha256sum }}{{ end }}
{{- end }}

{{/* Pods at an installation or upgrade where a HorizontalPodAutoscaler decides. */}}
{{- define "smsc.scaledReplicas" -}}
{{- $workload := include "smsc.runningWorkload" . | fromJson }}
{{- $running := dig "spec" "replicas" 0 $workload | int }}
{{- with .Values.autoscaling }}
{{- min (int .maxReplicas) (max (int .minReplicas) $running) }}
{{- end }}
{{- end }}

{{/* A quantity of Kubernetes in octets, so that 1Gi and 1024Mi are the same. */}}
{{- define "smsc.octets" -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 }}
{{- $unit := regexFind "[A-Za-z]*$" . }}
{{- $number := trimSuffix $unit . }}
{{- if hasKey $units $unit }}{{ mulf (float64 $number) (get $units $unit | float64) | int64 }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* What Kubernetes would refuse after the migration has run. */}}
{{- define "smsc.checkRunning" -}}
{{- if and (include "smsc.isStateful" .) (not .Values.persistence.existingClaim) }}
{{- range (dig "spec" "volumeClaimTemplates" list (include "smsc.runningWorkload" . | fromJson)) }}
{{- $size := dig "spec" "resources" "requests" "storage" "" . }}
{{- $same := eq (include "smsc.octets" $size) (include "smsc.octets" $.Values.persistence.size) }}
{{- if and (eq .metadata.name "data") $size (not $same) }}
{{- fail (printf "persistence.size: is %s, and the volumes of this release were made with %s, which a StatefulSet keeps for ever; write %s here, or enlarge the claims and delete the StatefulSet without its pods first: docs/cluster.md, \"Larger volumes\"" $.Values.persistence.size $size $size) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
