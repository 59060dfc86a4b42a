{{/*
The objects in a file of the repository, as a list under `documents`. The files are copies of those under deploy/, made by
`make generate`: what is installed here and there cannot differ but in what templates change.
Called with (dict "root" $ "file" "rbac/controller.yaml").
*/}}
{{- define "lmcache.documents" -}}
{{- $text := .root.Files.Get (printf "files/%s" .file) -}}
{{- if not $text -}}
{{- fail (printf "this chart lacks files/%s: package it from a checkout in which `make generate` was run" .file) -}}
{{- end -}}
{{- $documents := list -}}
{{- range regexSplit "(?m)^---\\s*$" $text -1 -}}
{{- $document := fromYaml . -}}
{{- if $document -}}
{{- $documents = append $documents $document -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "documents" $documents) -}}
{{- end -}}

{{/*
An object as a document of the output, with the labels that all objects get.
Called with (dict "root" $ "object" $object).
*/}}
{{- define "lmcache.object" -}}
{{- $object := .object -}}
{{- if .root.Values.commonLabels -}}
{{- $_ := set $object.metadata "labels" (merge (dict) (default (dict) $object.metadata.labels) .root.Values.commonLabels) -}}
{{- end }}
---
{{ toYaml $object }}
{{- end -}}

{{/*
The controller's image: digest, else tag, else the tag of the manifest.
Called with (dict "image" .Values.controller.image "manifest" "registry/name:tag").
*/}}
{{- define "lmcache.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default (regexFind "[^:/]+$" .manifest) }}
{{- end -}}
{{- end -}}

{{/*
Where a module is, by the address in its manifest.
Called with (dict "policies" .Values.policies "manifest" "registry://host/path/name:tag").
*/}}
{{- define "lmcache.module" -}}
{{- $name := regexReplaceAll "^.*/([^/:]+):[^/:]+$" .manifest "${1}" -}}
{{- if not (hasKey .policies.digests $name) -}}
{{- fail (printf "policies.digests has no key %s" $name) -}}
{{- end -}}
{{- $digest := get .policies.digests $name -}}
{{- if $digest -}}
registry://{{ .policies.registry }}/{{ $name }}@{{ $digest }}
{{- else -}}
registry://{{ .policies.registry }}/{{ $name }}:{{ .policies.tag | default (regexFind "[^:/]+$" .manifest) }}
{{- end -}}
{{- end -}}

{{/* The PolicyServer that runs the policies. */}}
{{- define "lmcache.policyServer" -}}
{{- if .Values.policyServer.dedicated.enabled -}}lmcache{{- else -}}{{ .Values.policyServer.name }}{{- end -}}
{{- end -}}
