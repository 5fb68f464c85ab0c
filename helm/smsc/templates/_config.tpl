{{/* smsc.toml and its secrets, from values. */}}

{{/* One value of TOML. YAML's numbers come as floating point: whole ones are written without one. */}}
{{- define "smsc.toml.value" -}}
{{- if kindIs "map" . }}
{{- $pairs := list }}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{- $pairs = append $pairs (printf "%s = %s" (include "smsc.toml.key" $key) (include "smsc.toml.value" $value)) }}
{{- end }}
{{- end }}
{{- printf "{ %s }" (join ", " $pairs) }}
{{- else if kindIs "slice" . }}
{{- $items := list }}
{{- range . }}
{{- $items = append $items (include "smsc.toml.value" .) }}
{{- end }}
{{- printf "[%s]" (join ", " $items) }}
{{- else if kindIs "string" . }}
{{- toJson . }}
{{- else if kindIs "bool" . }}
{{- toString . }}
{{- else if eq (float64 .) (floor .) }}
{{- int64 . }}
{{- else }}
{{- toString . }}
{{- end }}
{{- end }}

{{- define "smsc.toml.key" -}}
{{- if regexMatch "^[A-Za-z0-9_-]+$" . }}{{ . }}{{ else }}{{ toJson . }}{{ end }}
{{- end }}

{{/* The lines of one table. */}}
{{- define "smsc.toml.table" -}}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
{{ include "smsc.toml.key" $key }} = {{ include "smsc.toml.value" $value }}
{{- end }}
{{- end }}
{{- end }}

{{/* The whole file. */}}
{{- define "smsc.toml" -}}
{{- include "smsc.toml.of" (list . (fromJson (include "smsc.config" .))) }}
{{- end }}

{{/* What is in the store of the nodes, and changed there by `smsc apply`. */}}
{{- define "smsc.applied" -}}account operator route list limit policy mo_rule gsm number_range event_sink nats_source{{- end }}

{{/* What only a restart changes: without what `smsc apply` brings to the nodes. */}}
{{- define "smsc.toml.static" -}}
{{- $config := fromJson (include "smsc.config" .) }}
{{- if .Values.applyConfig }}
{{- range splitList " " (include "smsc.applied" .) }}
{{- $config = omit $config . }}
{{- end }}
{{- end }}
{{- include "smsc.toml.of" (list . $config) }}
{{- end }}

{{/* List of: root, configuration. */}}
{{- define "smsc.toml.of" -}}
{{- $root := index . 0 }}{{ $config := index . 1 -}}
# Rendered by the chart: change its values, not this.
{{- range $key, $value := $config }}
{{- if not (or (kindIs "map" $value) (kindIs "slice" $value) (kindIs "invalid" $value)) }}
{{ include "smsc.toml.key" $key }} = {{ include "smsc.toml.value" $value }}
{{- end }}
{{- end }}
{{- range $key, $value := $config }}
{{- if and (kindIs "map" $value) $value }}

[{{ $key }}]
{{- include "smsc.toml.table" $value }}
{{- else if kindIs "slice" $value }}
{{- range $value }}

[[{{ $key }}]]
{{- include "smsc.toml.table" . }}
{{- end }}
{{- end }}
{{- end }}
{{- with $root.Values.extraConfig }}

{{ . | trim }}
{{- end }}
{{ end }}

{{/* `config` with what the chart sets, as JSON. */}}
{{- define "smsc.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $at := .Values.secrets.mountPath }}
{{- $_ := set $config "data_dir" "/var/lib/smsc" }}
{{- $plain := printf "%s:2775" .Values.listenAddress }}
{{- $listeners := $config.listener | default list }}
{{- $proxyFrom := .Values.service.smpp.proxyFrom }}
{{- if $proxyFrom }}
{{- $listeners = append $listeners (dict "name" "smpp" "listen" $plain "proxy_from" $proxyFrom) }}
{{- $plain = list }}
{{- end }}
{{- with .Values.service.smppTls }}
{{- if .enabled }}
{{- $listener := dict "name" "smpp-tls" "listen" (printf "%s:3550" $.Values.listenAddress) "tls_cert" "/run/secrets/smsc-tls/tls.crt" "tls_key" "/run/secrets/smsc-tls/tls.key" }}
{{- if .clientCertificates }}
{{- $_ := set $listener "tls_client_ca" "/run/secrets/smsc-tls/ca.crt" }}
{{- end }}
{{- if $proxyFrom }}
{{- $_ := set $listener "proxy_from" $proxyFrom }}
{{- end }}
{{- $listeners = append $listeners $listener }}
{{- end }}
{{- end }}
{{- if .Values.service.cmpp.enabled }}
{{- $listener := dict "name" "cmpp" "listen" (printf "%s:7890" .Values.listenAddress) "protocol" "cmpp" }}
{{- if $proxyFrom }}
{{- $_ := set $listener "proxy_from" $proxyFrom }}
{{- end }}
{{- $listeners = append $listeners $listener }}
{{- end }}
{{- if $listeners }}
{{- $_ := set $config "listener" $listeners }}
{{- end }}
{{- $_ := set $config "smpp" (merge (dict "listen" $plain) ($config.smpp | default dict)) }}
{{- $_ := set $config "http" (merge (dict "listen" (printf "%s:8080" .Values.listenAddress) "admin_token_file" (printf "%s/admin-token" $at) "health_listen" (printf "%s:8081" .Values.listenAddress)) ($config.http | default dict)) }}
{{- with .Values.service.sgip }}
{{- if .enabled }}
{{- $sgip := dict "listen" (list (printf "%s:8801" $.Values.listenAddress)) }}
{{- if .tlsSecretName }}
{{- $sgip = merge $sgip (dict "tls_cert" "/run/secrets/smsc-sgip/tls.crt" "tls_key" "/run/secrets/smsc-sgip/tls.key") }}
{{- if .clientCertificates }}
{{- $_ := set $sgip "tls_client_ca" "/run/secrets/smsc-sgip/ca.crt" }}
{{- end }}
{{- end }}
{{- $_ := set $config "sgip" (merge $sgip ($config.sgip | default dict)) }}
{{- end }}
{{- end }}
{{- if .Values.service.api.enabled }}
{{- $api := dict "listen" (printf "%s:8090" .Values.listenAddress) }}
{{- with .Values.service.api.proxyFrom }}
{{- $_ := set $api "proxy_from" . }}
{{- end }}
{{- $_ := set $config "api" (merge $api ($config.api | default dict)) }}
{{- end }}
{{- if .Values.service.smppConnector.enabled }}
{{- $compat := $config.compat | default dict }}
{{- $connector := merge (dict "listen" (printf "%s:3001" .Values.listenAddress)) ($compat.smpp_connector | default dict) }}
{{- $_ := set $config "compat" (dict "smpp_connector" $connector) }}
{{- end }}
{{- if .Values.local.enabled }}
{{- $_ := set $config "local" (merge (dict "socket" (printf "%s/smsc.sock" .Values.local.mountPath)) ($config.local | default dict)) }}
{{- end }}
{{- if .Values.secrets.sealPasswords }}
{{- $_ := set $config "secrets" (dict "key_file" (printf "%s/sealing-key" $at)) }}
{{- end }}
{{- if include "smsc.isCluster" . }}
{{- $_ := set $config "postgres" (merge (dict "url_file" (printf "%s/database-url" $at)) ($config.postgres | default dict)) }}
{{- if .Values.redis.enabled }}
{{- $_ := set $config "redis" (merge (dict "url_file" (printf "%s/redis-url" $at)) ($config.redis | default dict)) }}
{{- end }}
{{- end }}
{{- with $config.http.oidc }}
{{- if .client_secret }}
{{- fail "config.http.oidc.client_secret: is in clear, and config becomes a ConfigMap, which many may read: move it to secrets.oidcClientSecret, or set client_secret_file" }}
{{- end }}
{{- if and $.Values.secrets.oidcClientSecret (not .client_secret_file) }}
{{- $_ := set . "client_secret_file" (printf "%s/oidc-client-secret" $at) }}
{{- end }}
{{- end }}
{{- $root := . }}
{{- range $config.account }}
{{- if .carrier_secret }}
{{- fail (printf "config.account %q: its carrier_secret is in clear, and config becomes a ConfigMap, which many may read: set its carrier_secret_file, or set it by smsc apply" .system_id) }}
{{- end }}
{{- include "smsc.password" (list $root . "account" .system_id $root.Values.secrets.accounts "secrets.accounts") }}
{{- end }}
{{- range $config.operator }}
{{- /* The management service has the password of a managed one. */}}
{{- if not .managed }}
{{- include "smsc.password" (list $root . "operator" .id $root.Values.secrets.operators "secrets.operators") }}
{{- end }}
{{- end }}
{{- toJson $config }}
{{- end }}

{{/* Points an account or operator to its password, unless it brings one. */}}
{{- define "smsc.password" -}}
{{- $root := index . 0 }}{{ $peer := index . 1 }}{{ $kind := index . 2 }}{{ $name := index . 3 }}{{ $known := index . 4 }}{{ $where := index . 5 }}
{{- $given := get $peer "password" | default "" }}
{{- $isHash := and (eq $kind "account") (hasPrefix "$argon2id$" $given) }}
{{- if and $given (not $isHash) }}
{{- fail (printf "config.%s %q: its password is in clear, and config becomes a ConfigMap, which many may read: move it to %s.%s, or set its password_file" $kind $name $where $name) }}
{{- end }}
{{- if not (or (hasKey $peer "password") (hasKey $peer "password_file")) }}
{{- if not (regexMatch "^[-._A-Za-z0-9]+$" $name) }}
{{- fail (printf "config.%s %q: its name cannot be a key of a Secret; give it password_file" $kind $name) }}
{{- end }}
{{- if and (not $root.Values.secrets.existingSecret) (not (hasKey $known $name)) }}
{{- fail (printf "config.%s %q has no password: set %s.%s, or its password_file, or secrets.existingSecret" $kind $name $where $name) }}
{{- end }}
{{- $_ := set $peer "password_file" (printf "%s/%s-%s" $root.Values.secrets.mountPath $kind $name) }}
{{- end }}
{{- end }}

{{- define "smsc.secretName" -}}
{{- default (include "smsc.fullname" .) .Values.secrets.existingSecret }}
{{- end }}

{{/* What the Secret holds, without a generated token. */}}
{{- define "smsc.secrets" -}}
{{- $secrets := dict }}
{{- with .Values.secrets.adminToken }}{{ $_ := set $secrets "admin-token" . }}{{ end }}
{{- with .Values.secrets.oidcClientSecret }}{{ $_ := set $secrets "oidc-client-secret" . }}{{ end }}
{{- if .Values.secrets.sealPasswords }}
{{- $_ := set $secrets "sealing-key" (required "secrets.sealingKey: sealPasswords needs a key (openssl rand -hex 32), or secrets.existingSecret with the key sealing-key" .Values.secrets.sealingKey) }}
{{- end }}
{{- if include "smsc.isCluster" . }}
{{- if not .Values.secrets.databaseUrlFrom.name }}
{{- $_ := set $secrets "database-url" (required "secrets.databaseUrl: mode cluster needs the URL of PostgreSQL, or secrets.databaseUrlFrom, or secrets.existingSecret with the key database-url" .Values.secrets.databaseUrl) }}
{{- end }}
{{- if and .Values.redis.enabled (not .Values.secrets.redisUrlFrom.name) }}
{{- $_ := set $secrets "redis-url" (required "secrets.redisUrl: redis.enabled needs the URL of Redis, or secrets.redisUrlFrom, or secrets.existingSecret with the key redis-url" .Values.secrets.redisUrl) }}
{{- end }}
{{- end }}
{{- range $name, $password := .Values.secrets.accounts }}
{{- $_ := set $secrets (printf "account-%s" $name) $password }}
{{- end }}
{{- range $name, $password := .Values.secrets.operators }}
{{- $_ := set $secrets (printf "operator-%s" $name) $password }}
{{- end }}
{{- toJson $secrets }}
{{- end }}

{{/* Files whose content is in Secrets of others, by file, as JSON. */}}
{{- define "smsc.secretsElsewhere" -}}
{{- $others := dict }}
{{- if include "smsc.isCluster" . }}
{{- with .Values.secrets.databaseUrlFrom }}{{ if .name }}{{ $_ := set $others "database-url" . }}{{ end }}{{ end }}
{{- if .Values.redis.enabled }}
{{- with .Values.secrets.redisUrlFrom }}{{ if .name }}{{ $_ := set $others "redis-url" . }}{{ end }}{{ end }}
{{- end }}
{{- end }}
{{- toJson $others }}
{{- end }}

{{/* The same with the token: the given one, the one that the Secret has already, or a new one. */}}
{{- define "smsc.secretsWithToken" -}}
{{- $secrets := fromJson (include "smsc.secrets" .) }}
{{- if not (hasKey $secrets "admin-token") }}
{{- $kept := lookup "v1" "Secret" .Release.Namespace (include "smsc.fullname" .) }}
{{- $token := dig "data" "admin-token" "" ($kept | default dict) | b64dec }}
{{- $_ := set $secrets "admin-token" (default (randAlphaNum 32) $token) }}
{{- end }}
{{- toYaml $secrets }}
{{- end }}
