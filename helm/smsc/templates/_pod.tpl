{{/* The pod template, the same for a StatefulSet and a Deployment. */}}
{{- define "smsc.pod" -}}
metadata:
  labels:
    {{- include "smsc.podSelector" . | nindent 4 }}
    {{- with .Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: smsc
    {{- if .Values.restartOnConfigChange }}
    checksum/config: {{ include "smsc.toml.static" . | sha256sum }}
    {{- if not .Values.secrets.existingSecret }}
    checksum/secrets: {{ include "smsc.secrets" . | sha256sum }}
    {{- end }}
    {{- with include "smsc.secretsOfOthers" . }}
    checksum/secrets-of-others: {{ . }}
    {{- end }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "smsc.serviceAccount" . }}
  {{- if .Values.hostNetwork }}
  hostNetwork: true
  # Names of the cluster are known there, too.
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  automountServiceAccountToken: false
  # Variables of other services are nobody's configuration.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: smsc
      image: {{ include "smsc.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env:
        {{- include "smsc.environment" . | nindent 8 }}
      {{- with .Values.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: smpp
          containerPort: 2775
        {{- if .Values.service.smppTls.enabled }}
        - name: smpp-tls
          containerPort: 3550
        {{- end }}
        {{- if .Values.service.cmpp.enabled }}
        - name: cmpp
          containerPort: 7890
        {{- end }}
        {{- if .Values.service.sgip.enabled }}
        - name: sgip
          containerPort: 8801
        {{- end }}
        - name: http
          containerPort: 8080
        - name: health
          containerPort: 8081
        {{- if .Values.service.api.enabled }}
        - name: api
          containerPort: 8090
        {{- end }}
        {{- if .Values.service.smppConnector.enabled }}
        - name: connector
          containerPort: 3001
        {{- end }}
      # The HTTP server starts when the store has been read and everything is in its queue.
      startupProbe:
        httpGet:
          path: /health/live
          port: health
        periodSeconds: 5
        failureThreshold: {{ div (add (int .Values.probes.startupSeconds) 4) 5 }}
      readinessProbe:
        httpGet:
          path: /health/ready
          port: health
        {{- toYaml .Values.probes.readiness | nindent 8 }}
      livenessProbe:
        httpGet:
          path: /health/live
          port: health
        {{- toYaml .Values.probes.liveness | nindent 8 }}
      {{- with .Values.preStopSeconds }}
      lifecycle:
        preStop:
          sleep:
            seconds: {{ . }}
      {{- end }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      volumeMounts:
        {{- include "smsc.configMounts" . | nindent 8 }}
        - name: data
          mountPath: /var/lib/smsc
        {{- if .Values.service.smppTls.enabled }}
        - name: smpp-tls
          mountPath: /run/secrets/smsc-tls
          readOnly: true
        {{- end }}
        {{- if and .Values.service.sgip.enabled .Values.service.sgip.tlsSecretName }}
        - name: sgip-tls
          mountPath: /run/secrets/smsc-sgip
          readOnly: true
        {{- end }}
        {{- if .Values.tracing.tls.secretName }}
        - name: otlp-tls
          mountPath: /run/secrets/smsc-otlp
          readOnly: true
        {{- end }}
        {{- if .Values.local.enabled }}
        - name: local
          mountPath: {{ .Values.local.mountPath }}
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "smsc.configVolumes" (list . (include "smsc.fullname" .) (include "smsc.secretName" .)) | nindent 4 }}
    {{- if not (include "smsc.isStateful" .) }}
    - name: data
      emptyDir: {}
    {{- else if .Values.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .Values.persistence.existingClaim }}
    {{- end }}
    {{- with .Values.service.smppTls }}
    {{- if .enabled }}
    - name: smpp-tls
      secret:
        secretName: {{ .secretName }}
        # Readable by the group (fsGroup) only.
        defaultMode: 0440
    {{- end }}
    {{- end }}
    {{- with .Values.service.sgip }}
    {{- if and .enabled .tlsSecretName }}
    - name: sgip-tls
      secret:
        secretName: {{ .tlsSecretName }}
        defaultMode: 0440
    {{- end }}
    {{- end }}
    {{- with .Values.tracing.tls.secretName }}
    - name: otlp-tls
      secret:
        secretName: {{ . }}
        # Readable by the group (fsGroup) only.
        defaultMode: 0440
    {{- end }}
    {{- with .Values.local }}
    {{- if .enabled }}
    - name: local
      {{- if .hostPath }}
      hostPath:
        path: {{ .hostPath }}
        type: Directory
      {{- else }}
      emptyDir: {}
      {{- end }}
    {{- end }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if include "smsc.isCluster" . }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range . }}
    - {{- toYaml . | nindent 6 }}
      {{- if not .labelSelector }}
      labelSelector:
        matchLabels:
          {{- include "smsc.podSelector" $ | nindent 10 }}
      {{- end }}
    {{- end }}
  {{- end }}
  {{- end }}
{{- end }}

{{/*
Inside of the cluster HTTP without TLS is the default, of which nothing has to warn. No line of the ConfigMap: pods of the
release before read that, too, and know no newer key.
*/}}
{{- define "smsc.inClear" -}}
{{- if and (eq .Values.service.http.type "ClusterIP") (eq (include "smsc.scheme" .) "http") (not .Values.hostNetwork) (not (hasKey (.Values.config.http | default dict) "in_clear")) }}
- name: SMSC_HTTP__IN_CLEAR
  value: "true"
{{- end }}
{{- end }}

{{/* Where the file is, so that `kubectl exec … smsc queue list` needs no flags; and where traces go. */}}
{{- define "smsc.environment" -}}
- name: SMSC_CONFIG
  value: /etc/smsc/smsc.toml
{{- include "smsc.inClear" . }}
{{- if .Values.tracing.enabled }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .Values.tracing.endpoint | quote }}
- name: OTEL_EXPORTER_OTLP_PROTOCOL
  value: {{ .Values.tracing.protocol | quote }}
{{- with .Values.tracing.tls }}
{{- if .secretName }}
- name: OTEL_EXPORTER_OTLP_CERTIFICATE
  value: /run/secrets/smsc-otlp/ca.crt
{{- if .clientCertificate }}
- name: OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE
  value: /run/secrets/smsc-otlp/tls.crt
- name: OTEL_EXPORTER_OTLP_CLIENT_KEY
  value: /run/secrets/smsc-otlp/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.tracing.headers }}
{{- if .secretName }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ .secretName }}
      key: {{ .key }}
{{- end }}
{{- end }}
- name: OTEL_SERVICE_NAME
  value: {{ default (include "smsc.fullname" .) .Values.tracing.serviceName | quote }}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: {{ printf "k8s.namespace.name=%s,k8s.pod.name=$(POD_NAME),k8s.node.name=$(NODE_NAME)" .Release.Namespace }}{{ range $key, $value := .Values.tracing.resourceAttributes }}{{ printf ",%s=%v" $key $value }}{{ end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "smsc.configMounts" -}}
- name: config
  mountPath: /etc/smsc
  readOnly: true
- name: secrets
  mountPath: {{ .Values.secrets.mountPath }}
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- end }}

{{/* List of: root, name of the ConfigMap, name of the Secret. */}}
{{- define "smsc.configVolumes" -}}
- name: config
  configMap:
    name: {{ index . 1 }}
- name: secrets
  {{- $root := index . 0 }}
  {{- $others := include "smsc.secretsElsewhere" $root | fromJson }}
  {{- if $others }}
  projected:
    # Readable by the group (fsGroup) only.
    defaultMode: 0440
    sources:
      - secret:
          name: {{ index . 2 }}
      {{- range $path, $from := $others }}
      - secret:
          name: {{ $from.name }}
          items:
            - key: {{ $from.key }}
              path: {{ $path }}
      {{- end }}
  {{- else }}
  secret:
    secretName: {{ index . 2 }}
    # Readable by the group (fsGroup) only.
    defaultMode: 0440
  {{- end }}
- name: tmp
  emptyDir: {}
{{- end }}
