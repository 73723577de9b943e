{{- /* The environment of a container. Takes root, role, values (those of the role), versioned; resources if they are not the role's. */ -}}
{{- define "holdfast.env" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
{{- $config := mergeOverwrite dict ($values.config | default dict) (get .values "config" | default dict) -}}
{{- if hasPrefix "file:" (toString (get $config "HOLDFAST_ARCHIVE")) -}}
{{- fail "HOLDFAST_ARCHIVE: no pod has a folder that stays: name an s3:// address" -}}
{{- end -}}
{{- if eq .role "ingress" -}}
{{- $_ := set $config "HOLDFAST_INGRESS_ADDR" ":8080" -}}
{{- end -}}
{{- $_ := set $config "HOLDFAST_OPERATOR_ADDR" ":8081" -}}
{{- if include "holdfast.definitions" $root -}}
{{- $_ := set $config "HOLDFAST_PROVIDERS_DIR" "/etc/holdfast/providers" -}}
{{- end -}}
{{- if not .versioned -}}
{{- $_ := set $config "TEMPORAL_ADDRESS" $values.temporal.address -}}
{{- $_ := set $config "TEMPORAL_NAMESPACE" $values.temporal.namespace -}}
{{- with $values.temporal.tls -}}
{{- if .enabled -}}{{- $_ := set $config "TEMPORAL_TLS" "true" -}}{{- end -}}
{{- if .serverName -}}{{- $_ := set $config "TEMPORAL_TLS_SERVER_NAME" .serverName -}}{{- end -}}
{{- if .clientSecret -}}
{{- $_ := set $config "TEMPORAL_TLS_CLIENT_CERT_PATH" "/etc/holdfast/temporal/tls.crt" -}}
{{- $_ := set $config "TEMPORAL_TLS_CLIENT_KEY_PATH" "/etc/holdfast/temporal/tls.key" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $values.temporal.tls.ca.name -}}
{{- $_ := set $config "TEMPORAL_TLS_SERVER_CA_CERT_PATH" "/etc/holdfast/temporal/ca.crt" -}}
{{- end -}}
{{- range $variable, $_ := include "holdfast.secrets" . | fromYaml -}}
{{- $_ := set $config (printf "%s_FILE" $variable) (printf "/etc/holdfast/secrets/%s" $variable) -}}
{{- end -}}
{{- range $name, $value := $config }}
- name: {{ $name }}
  value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
{{- end }}
{{- if and $values.temporal.apiKey.name (not .versioned) }}
- name: TEMPORAL_API_KEY
  valueFrom:
    secretKeyRef: {{ toJson $values.temporal.apiKey }}
{{- end }}
{{- $env := concat ($values.env | default list) (get .values "env" | default list) -}}
{{- $own := false -}}
{{- range $env }}{{- if eq .name "GOMEMLIMIT" }}{{- $own = true -}}{{- end }}{{- end -}}
{{- with include "holdfast.goMemoryLimit" (get . "resources" | default .values.resources) }}
{{- if not $own }}
# Go collects its garbage harder before the container is killed for its memory.
- name: GOMEMLIMIT
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- with $env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* Nine tenths of a container's memory, in bytes: the rest is for what Go does not count. "" where there is no limit. */ -}}
{{- define "holdfast.goMemoryLimit" -}}
{{- $limit := dig "limits" "memory" "" (. | default dict) -}}
{{- if $limit -}}
{{- /* A number in the values may come as one. */ -}}
{{- $text := kindIs "string" $limit | ternary $limit (int64 $limit | toString) -}}
{{- if not (regexMatch "^[0-9]+([.][0-9]+)?([kMGT]|[KMGT]i)?$" $text) -}}
{{- fail (printf "resources.limits.memory: %s has a form that GOMEMLIMIT cannot be made of: write it as 512Mi" $text) -}}
{{- end -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (get $units (regexFind "[a-zA-Z]*$" $text)) 0.9 | int64 -}}
{{- end -}}
{{- end -}}

{{- /* The secrets that a container gets as files: variable → {name, key}. */ -}}
{{- define "holdfast.secrets" -}}
{{- $values := .root.Values -}}
{{- $secrets := dict "DATABASE_URL" $values.database.secret "HOLDFAST_PAYLOAD_KEYS" $values.payloadKeys "HOLDFAST_NOTIFY_URLS" $values.notifyURLs -}}
{{- if and (eq .role "migration") $values.database.migrationSecret.name -}}
{{- $_ := set $secrets "DATABASE_URL" $values.database.migrationSecret -}}
{{- end -}}
{{- /* The ingress tells why it refused requests, to who has a token; what it holds are their hashes. */ -}}
{{- if has .role (list "ingress" "operator") -}}
{{- $_ := set $secrets "HOLDFAST_OPERATOR_TOKENS" $values.operator.tokens -}}
{{- end -}}
{{- /* The operator tries subscriptions out, with what signs them. */ -}}
{{- $own := ternary $values.worker.secrets (get .values "secrets" | default dict) (eq .role "operator") -}}
{{- range $variable, $secret := mergeOverwrite $secrets $own -}}
{{- if $secret.name }}
{{ $variable }}: {name: {{ $secret.name | quote }}, key: {{ get $secret "key" | default $variable | quote }}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "holdfast.volumes" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range $variable, $secret := include "holdfast.secrets" . | fromYaml }}
      - secret:
          name: {{ $secret.name | quote }}
          items: [{key: {{ $secret.key | quote }}, path: {{ $variable }}}]
      {{- end }}
{{- with include "holdfast.definitions" .root }}
- name: providers
  configMap: {name: {{ . | quote }}}
{{- end }}
{{- with include "holdfast.temporalFiles" . }}
- name: temporal
  projected:
    defaultMode: 0440
    sources:
      {{- . | trim | nindent 6 }}
{{- end }}
{{- end -}}

{{- define "holdfast.mounts" -}}
- {name: secrets, mountPath: /etc/holdfast/secrets, readOnly: true}
{{- if include "holdfast.definitions" .root }}
- {name: providers, mountPath: /etc/holdfast/providers, readOnly: true}
{{- end }}
{{- if include "holdfast.temporalFiles" . }}
- {name: temporal, mountPath: /etc/holdfast/temporal, readOnly: true}
{{- end }}
{{- end -}}

{{- /* The certificates for Temporal. The worker controller mounts the client's by itself. */ -}}
{{- define "holdfast.temporalFiles" -}}
{{- $tls := .root.Values.temporal.tls -}}
{{- if and $tls.clientSecret (not .versioned) }}
- secret:
    name: {{ $tls.clientSecret | quote }}
    items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]
{{- end }}
{{- if $tls.ca.name }}
- secret:
    name: {{ $tls.ca.name | quote }}
    items: [{key: {{ $tls.ca.key | quote }}, path: ca.crt}]
{{- end }}
{{- end -}}
