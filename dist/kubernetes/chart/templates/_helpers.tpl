{{- define "netperf.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "netperf.labels" -}}
app.kubernetes.io/name: netperf
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Options of the key, for either program. */}}
{{- define "netperf.key" -}}
{{- if .Values.keySecret }}
- --key-file
- /run/netperf/key
{{- end }}
{{- end }}

{{- define "netperf.restricted" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "netperf.user" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "netperf.keyVolume" -}}
{{- if .Values.keySecret }}
- name: key
  secret: {secretName: {{ .Values.keySecret | quote }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{/* Specification of a pod with netserver. */}}
{{- define "netperf.server" -}}
automountServiceAccountToken: false
enableServiceLinks: false
# Longer than --drain (default: 30 seconds).
terminationGracePeriodSeconds: 40
securityContext: {{- include "netperf.user" . | nindent 2 }}
containers:
  - name: netserver
    image: {{ include "netperf.image" . | quote }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command:
      - netserver
      - -D
      - -p
      - {{ .Values.port | quote }}
      - --log
      - json
      - --metrics
      - "0.0.0.0:{{ .Values.metricsPort }}"
      {{- include "netperf.key" . | nindent 6 }}
      {{- with .Values.options }}{{ toYaml . | nindent 6 }}{{ end }}
    ports:
      - {name: tcp, protocol: TCP, containerPort: {{ .Values.port }}}
      - {name: udp, protocol: UDP, containerPort: {{ .Values.port }}}
      - {name: metrics, protocol: TCP, containerPort: {{ .Values.metricsPort }}}
    readinessProbe:
      httpGet: {path: /health, port: metrics}
      periodSeconds: 5
    # A loaded node answers late: only a netserver that is silent for a minute is replaced.
    livenessProbe:
      httpGet: {path: /health, port: metrics}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    resources: {{- toYaml .Values.resources | nindent 6 }}
    securityContext: {{- include "netperf.restricted" . | nindent 6 }}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
      {{- if .Values.keySecret }}
      - {name: key, mountPath: /run/netperf, readOnly: true}
      {{- end }}
volumes:
  - name: tmp
    emptyDir: {medium: Memory, sizeLimit: 16Mi}
  {{- include "netperf.keyVolume" . | nindent 2 }}
{{- end }}

{{/* Ports of a service. */}}
{{- define "netperf.ports" -}}
- {name: tcp, protocol: TCP, port: {{ .Values.port }}, targetPort: tcp}
- {name: udp, protocol: UDP, port: {{ .Values.port }}, targetPort: udp}
{{- end }}
