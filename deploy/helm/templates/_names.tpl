{{- /* Short enough for -migration behind it. */ -}}
{{- define "holdfast.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{- /* Short enough for what the names of objects add to it, such as -providers-12345678. */ -}}
{{- define "holdfast.fullname" -}}
{{- $name := printf "%s-%s" .Release.Name (include "holdfast.name" .) -}}
{{- if .Values.fullnameOverride -}}
{{- $name = .Values.fullnameOverride -}}
{{- else if contains (include "holdfast.name" .) .Release.Name -}}
{{- $name = .Release.Name -}}
{{- end -}}
{{- $name = $name | trunc 44 | trimSuffix "-" -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) -}}
{{- fail (printf "%s is no name that a service can have (a letter, then letters, digits and -): set fullnameOverride" $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- /* What finds the pods of all roles, and no pod of the migration. */ -}}
{{- define "holdfast.selector" -}}
app.kubernetes.io/name: {{ include "holdfast.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "holdfast.labels" -}}
{{ include "holdfast.selector" . }}
app.kubernetes.io/version: {{ include "holdfast.version" . }}
app.kubernetes.io/part-of: holdfast
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The labels of an object that has some of its own. Takes the root and those. */ -}}
{{- define "holdfast.labelsAnd" -}}
{{- mergeOverwrite (include "holdfast.labels" (first .) | fromYaml) (last . | default dict) | toYaml -}}
{{- end -}}

{{- /* A tag may have signs that a label may not. */ -}}
{{- define "holdfast.version" -}}
{{- default .Chart.AppVersion .Values.image.tag | replace "+" "_" | trunc 63 | trimAll "-_." | quote -}}
{{- end -}}

{{- define "holdfast.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "holdfast.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "holdfast.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The ConfigMap of definitions, by a name that changes with them, so that the pods do, too. "" if there is none. */ -}}
{{- define "holdfast.definitions" -}}
{{- if .Values.providers.configMap -}}
{{- .Values.providers.configMap -}}
{{- else if .Values.providers.definitions -}}
{{- printf "%s-providers-%s" (include "holdfast.fullname" .) (toJson .Values.providers.definitions | sha256sum | trunc 8) -}}
{{- end -}}
{{- end -}}

{{- define "holdfast.temporalPort" -}}
{{- regexFind "[0-9]+$" .Values.temporal.address -}}
{{- end -}}
