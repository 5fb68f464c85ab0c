{{/* Whether `smsc apply` runs at an upgrade: there is something that it would apply. */}}
{{- define "smsc.applies" -}}
{{- $any := false }}
{{- range splitList " " (include "smsc.applied" .) }}
{{- $any = or $any (index $.Values.config .) }}
{{- end }}
{{- if and .Values.applyConfig $any }}yes{{ end }}
{{- end }}

{{/* The arguments of `smsc apply`, as a JSON list. */}}
{{- define "smsc.applyArguments" -}}
{{- /* The kubelet brings a changed Secret to the nodes within a minute or two. */}}
{{- $arguments := list "apply" "--file" "/etc/smsc/smsc.toml" "--url" (include "smsc.url" .) "--token-within" "150s" }}
{{- if not .Values.allowRemovals }}
{{- $arguments = append $arguments "--refuse-removals" }}
{{- end }}
{{- toJson $arguments }}
{{- end }}

{{/* The pod of a Job. List of: root, component, arguments, name of the ConfigMap, name of the Secret. */}}
{{- define "smsc.jobPod" -}}
{{- $root := index . 0 -}}
metadata:
  labels:
    {{- include "smsc.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ index . 1 }}
{{ include "smsc.jobSpec" . }}
{{- end }}

{{/* The same without metadata, also for `helm test`. */}}
{{- define "smsc.jobSpec" -}}
{{- $root := index . 0 -}}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- if not $root.Values.serviceAccount.create }}
  serviceAccountName: {{ include "smsc.serviceAccount" $root }}
  {{- end }}
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    {{- toYaml $root.Values.podSecurityContext | nindent 4 }}
  containers:
    - name: {{ first (index . 2) }}
      image: {{ include "smsc.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: {{ toJson (index . 2) }}
      # What went wrong is in the pod's status, too.
      terminationMessagePolicy: FallbackToLogsOnError
      env:
        - name: SMSC_CONFIG
          value: /etc/smsc/smsc.toml
        {{- include "smsc.inClear" $root | nindent 8 }}
        {{- with $root.Values.service.http.caFile }}
        - name: SMSC_CA
          value: {{ . | quote }}
        {{- end }}
        {{- with $root.Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $root.Values.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      resources:
        requests:
          cpu: 50m
          memory: 64Mi
        limits:
          memory: 256Mi
      securityContext:
        {{- toYaml $root.Values.securityContext | nindent 8 }}
      volumeMounts:
        {{- include "smsc.configMounts" $root | nindent 8 }}
        {{- with $root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- include "smsc.configVolumes" (list $root (index . 3) (index . 4)) | nindent 4 }}
    {{- with $root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
