{{/* The name of all objects. */}}
{{- define "salver.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The labels by which pods are found. */}}
{{- define "salver.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of all objects. */}}
{{- define "salver.labels" -}}
{{ include "salver.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{/* The reference of the image. */}}
{{- define "salver.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* The bytes of a quantity of Kubernetes: 512Mi, 1.5G, 1e9, 134217728. A number of YAML would be written with an exponent. */}}
{{- define "salver.bytes" -}}
{{- $text := ternary (printf "%.0f" (float64 .)) (toString .) (or (kindIs "float64" .) (kindIs "int64" .) (kindIs "int" .)) -}}
{{- if not (regexMatch "^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][0-9]+)?$" $text) -}}
{{- fail (printf "resources.limits.memory: %q is no quantity such as 512Mi" $text) -}}
{{- end -}}
{{- $number := regexFind "^[0-9.]+" $text -}}
{{- $unit := trimPrefix $number $text -}}
{{- $units := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- if regexMatch "^[eE][0-9]" $unit -}}
{{- printf "%.0f" (float64 $text) -}}
{{- else -}}
{{- printf "%.0f" (floor (mulf (float64 $number) (get $units $unit))) -}}
{{- end -}}
{{- end -}}

{{/* The size of a share of the memory limit. The downward API can tell the limit, and no part of it, so that it is computed here. */}}
{{- define "salver.share" -}}
{{- $bytes := include "salver.bytes" .limit -}}
{{- $size := div (div (mul (int64 $bytes) (int64 .share)) 100) 1048576 -}}
{{- if lt $size 1 -}}
{{- fail (printf "%v%% of the memory limit %v is less than 1 MiB: raise resources.limits.memory" .share .limit) -}}
{{- end -}}
{{- printf "%dMiB" $size -}}
{{- end -}}

{{/* The memory limit, or nothing. */}}
{{- define "salver.memoryLimit" -}}
{{- with get .Values.resources "limits" -}}{{- with get . "memory" -}}{{- ternary (printf "%.0f" (float64 .)) (toString .) (kindIs "float64" .) -}}{{- end -}}{{- end -}}
{{- end -}}

{{/* The address of the admin listener for other pods. */}}
{{- define "salver.admin" -}}
{{- if contains ":" .Values.host -}}
{{- printf "[%s]:%d" .Values.host (int .Values.metrics.port) -}}
{{- else -}}
{{- printf "%s:%d" .Values.host (int .Values.metrics.port) -}}
{{- end -}}
{{- end -}}

{{/* True where a store is served instead of a directory. */}}
{{- define "salver.isStore" -}}
{{- if or (eq .Values.content.form "sidecar") (and (eq .Values.content.form "persistentVolumeClaim") .Values.content.persistentVolumeClaim.store) -}}true{{- end -}}
{{- end -}}

{{/* The variables of the server, each a flag of `salver serve`. */}}
{{- define "salver.env" -}}
{{- $limit := include "salver.memoryLimit" . -}}
{{- $taken := list "host" "port" "path" "store" "metrics" "admin" "admin-token-file" "workers" "drain" "cache-size" "connection-memory" "max-connections" "max-connections-per-client" "trusted-proxies" "log" "log-format" -}}
- name: SALVER_HOST
  value: {{ .Values.host | quote }}
- name: SALVER_PORT
  value: {{ .Values.port | quote }}
{{- if include "salver.isStore" . }}
# The directory of the image is none beside a store.
- name: SALVER_PATH
  value: ""
- name: SALVER_STORE
  value: /store
{{- else }}
- name: SALVER_PATH
  value: /site
{{- end }}
{{- if .Values.metrics.enabled }}
# The listener of the image for the pod alone has the same port.
- name: SALVER_METRICS
  value: ""
- name: SALVER_ADMIN
  value: {{ include "salver.admin" . | quote }}
- name: SALVER_ADMIN_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ required "metrics.tokenSecret.name: other machines reach the admin listener, name the Secret with its token" .Values.metrics.tokenSecret.name }}
      key: {{ .Values.metrics.tokenSecret.key }}
{{- else }}
- name: SALVER_METRICS
  value: {{ .Values.metrics.port | quote }}
{{- end }}
- name: SALVER_WORKERS
{{- if .Values.workers }}
  value: {{ .Values.workers | quote }}
{{- else }}
  valueFrom:
    resourceFieldRef:
      containerName: salver
      resource: limits.cpu
      divisor: "1"
{{- end }}
- name: SALVER_DRAIN
  value: {{ printf "%ds" (int .Values.drain.drainSeconds) }}
{{- if or .Values.cache.size $limit }}
- name: SALVER_CACHE_SIZE
  value: {{ .Values.cache.size | default (include "salver.share" (dict "limit" $limit "share" .Values.cache.share)) | quote }}
{{- end }}
{{- if or .Values.connections.memory $limit }}
- name: SALVER_CONNECTION_MEMORY
  value: {{ .Values.connections.memory | default (include "salver.share" (dict "limit" $limit "share" .Values.connections.share)) | quote }}
{{- end }}
- name: SALVER_MAX_CONNECTIONS
  value: {{ int .Values.connections.max | quote }}
- name: SALVER_MAX_CONNECTIONS_PER_CLIENT
  value: {{ int (.Values.connections.maxPerClient | default .Values.connections.max) | quote }}
{{- with .Values.trustedProxies }}
- name: SALVER_TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
{{- if ne .Values.accessLog "off" }}
- name: SALVER_LOG
  value: "-"
- name: SALVER_LOG_FORMAT
  value: {{ .Values.accessLog }}
{{- end }}
{{- range $flag, $value := .Values.settings }}
{{- if has $flag $taken }}
{{- fail (printf "settings.%s: another value of the chart sets it" $flag) }}
{{- end }}
- name: SALVER_{{ $flag | upper | replace "-" "_" }}
  value: {{ ternary (printf "%.0f" (float64 $value)) (toString $value) (kindIs "float64" $value) | quote }}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The action of a probe: the admin listener is asked, by the program itself where nobody else reaches it. */}}
{{- define "salver.probe" -}}
{{- if .root.Values.metrics.enabled }}
httpGet:
  path: /{{ .asks }}
  port: admin
{{- else }}
exec:
  command: {{ ternary (list "/usr/bin/salver" "health" "--live") (list "/usr/bin/salver" "health") (eq .asks "live") | toJson }}
{{- end }}
{{ toYaml .timing }}
{{- end -}}

{{/* What no container may. */}}
{{- define "salver.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
