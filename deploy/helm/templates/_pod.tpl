{{- /* The template of a role's pod. Takes root, role, values, versioned. */ -}}
{{- define "holdfast.pod" -}}
{{- $values := .root.Values -}}
metadata:
  labels:
    {{- include "holdfast.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
    {{- with mergeOverwrite dict ($values.commonLabels | default dict) (.values.podLabels | default dict) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: {{ .role }}
    {{- with .values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "holdfast.podBasics" . | nindent 2 }}
  terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
  {{- if ne .role "ingress" }}
  # An ingress has none: it must start, and accept, with the database away.
  initContainers:
    - name: wait-for-migration
      {{- include "holdfast.container" . | nindent 6 }}
      args: [migrate, --wait-only]
      env:
        {{- include "holdfast.env" (set (omit . "resources") "resources" $values.migration.resources) | trim | nindent 8 }}
      resources:
        {{- toYaml $values.migration.resources | nindent 8 }}
  {{- end }}
  containers:
    - name: {{ .role }}
      {{- include "holdfast.container" . | nindent 6 }}
      args: [{{ .role }}]
      env:
        {{- include "holdfast.env" . | trim | nindent 8 }}
      ports:
        {{- if eq .role "ingress" }}
        - {name: webhooks, containerPort: 8080, protocol: TCP}
        {{- end }}
        - {name: operator, containerPort: 8081, protocol: TCP}
      livenessProbe:
        httpGet: {path: /healthz, port: operator}
        periodSeconds: 10
        timeoutSeconds: 3
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: operator}
        periodSeconds: 5
        # It asks the stores for 2 s at most.
        timeoutSeconds: 3
        failureThreshold: 3
      resources:
        {{- toYaml .values.resources | nindent 8 }}
  {{- if $values.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: {{ $values.topologySpread.whenUnsatisfiable }}
      labelSelector:
        matchLabels:
          {{- include "holdfast.selector" $.root | nindent 10 }}
          app.kubernetes.io/component: {{ $.role }}
      # Pods of another rollout do not count.
      matchLabelKeys: [pod-template-hash]
    {{- end }}
  {{- end }}
  {{- with .values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* What the pods of roles and of the migration have in common. */ -}}
{{- define "holdfast.podBasics" -}}
{{- $values := .root.Values -}}
serviceAccountName: {{ include "holdfast.serviceAccount" .root | quote }}
# Nothing here asks the cluster for anything.
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
{{- with $values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
volumes:
  {{- include "holdfast.volumes" . | nindent 2 }}
{{- end -}}

{{- define "holdfast.container" -}}
image: {{ include "holdfast.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  {{- include "holdfast.mounts" . | nindent 2 }}
{{- end -}}
