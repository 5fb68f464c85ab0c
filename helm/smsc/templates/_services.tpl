{{/* What services, Ingresses and routes of the Gateway API have in common. */}}

{{/* The beginning of a service's spec. List of: root, its values. */}}
{{- define "smsc.serviceSpec" -}}
{{- $root := index . 0 }}{{ $values := index . 1 -}}
type: {{ $values.type }}
{{- if and (eq $values.type "LoadBalancer") $values.loadBalancerClass }}
loadBalancerClass: {{ $values.loadBalancerClass }}
{{- end }}
{{- include "smsc.ipFamilies" $root }}
{{- end }}

{{- define "smsc.ipFamilies" -}}
{{- with .Values.service.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.service.ipFamilies }}
ipFamilies: {{ toJson . }}
{{- end }}
{{- end }}

{{/* Metadata. List of: root, name, component, annotations. */}}
{{- define "smsc.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
labels:
  {{- include "smsc.labels" $root | nindent 2 }}
  app.kubernetes.io/component: {{ index . 2 }}
{{- with index . 3 }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* An Ingress for a service and port of the same name. List of: root, component, path of its values, its values. */}}
{{- define "smsc.ingress" -}}
{{- $root := index . 0 }}{{ $component := index . 1 }}{{ $path := index . 2 }}{{ $values := index . 3 }}
{{- $name := printf "%s-%s" (include "smsc.fullname" $root) $component -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  {{- include "smsc.metadata" (list $root $name $component $values.annotations) | nindent 2 }}
spec:
  {{- with $values.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with $values.tlsSecret }}
  tls:
    - hosts:
        - {{ $values.host | quote }}
      secretName: {{ . }}
  {{- end }}
  rules:
    - host: {{ required (printf "%s.host: is empty; write the host name" $path) $values.host | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: {{ $name }}
                port:
                  name: {{ $component }}
{{- end }}

{{/*
A route of the Gateway API to one port. List of: root, kind, name, component, service, port, path of its values, its values.
*/}}
{{- define "smsc.route" -}}
{{- $root := index . 0 }}{{ $kind := index . 1 }}{{ $values := index . 7 }}
{{- if not $values.parentRefs }}
{{- fail (printf "%s.parentRefs: is empty; name the Gateway, as [{ name: gateway, namespace: edge }]" (index . 6)) }}
{{- end }}
{{- /* TCPRoute is in v1 of recent releases only, and no more in v1alpha2 of their standard channel. */}}
{{- $stable := or (eq $kind "HTTPRoute") ($root.Capabilities.APIVersions.Has (printf "gateway.networking.k8s.io/v1/%s" $kind)) -}}
apiVersion: gateway.networking.k8s.io/{{ ternary "v1" "v1alpha2" $stable }}
kind: {{ $kind }}
metadata:
  {{- include "smsc.metadata" (list $root (index . 2) (index . 3) $values.annotations) | nindent 2 }}
spec:
  parentRefs:
    {{- toYaml $values.parentRefs | nindent 4 }}
  {{- with $values.hostnames }}
  hostnames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - backendRefs:
        - name: {{ index . 4 }}
          port: {{ index . 5 }}
{{- end }}
