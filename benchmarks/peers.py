"""The same objects by Helm and by kustomize: their inputs, made from ours, and the proof that outputs are equal.

Both get their inputs finished, which is in their favour: Helm's values hold every derived name and path, kustomize's
patches hold every derived value. Run as a process of its own, so that the measuring one stays small.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from benchmarks.workloads import documents, files

Manifest = dict[str, Any]

CHART = """\
apiVersion: v2
name: fleet
version: 1.0.0
"""

# What stands around the two workers, and what is put into them: the same as our templates/.
CHART_TEMPLATE = """\
{{- define "pod" }}
{{- $service := .service }}
{{- $worker := .worker }}
{{- $env := .env }}
{{- $mount := dict "name" $worker.volume "mountPath" $worker.mountPath }}
{{- $containers := list }}
{{- range $worker.template.spec.containers }}
{{- $containers = append $containers (merge (dict
      "env" (concat $env (.env | default list))
      "volumeMounts" (append (.volumeMounts | default list) $mount)) .) }}
{{- end }}
{{- $volume := dict "name" $worker.volume "hostPath" (dict "path" $worker.folder "type" "Directory") }}
{{- $spec := merge (dict
      "containers" $containers
      "volumes" (append ($worker.template.spec.volumes | default list) $volume)) .defaults $worker.template.spec }}
apiVersion: v1
kind: Pod
metadata:
  name: {{ printf "%s-%s" $service.name .type | quote }}
  namespace: {{ $service.namespace | quote }}
  labels:
    app.kubernetes.io/managed-by: sedna-render
    jointinferenceservice.sedna.io/name: {{ $service.name | quote }}
    jointinferenceservice.sedna.io/worker-type: {{ .type }}
  annotations:
    render.sedna.io/source: {{ $service.source | quote }}
spec:
  {{- toYaml $spec | nindent 2 }}
{{- end }}
{{- range .Values.services }}
{{- $address := printf "%s-cloud.%s" .name .namespace }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ printf "%s-cloud" .name | quote }}
  namespace: {{ .namespace | quote }}
  labels:
    app.kubernetes.io/managed-by: sedna-render
    jointinferenceservice.sedna.io/name: {{ .name | quote }}
    jointinferenceservice.sedna.io/worker-type: cloud
  annotations:
    render.sedna.io/source: {{ .source | quote }}
spec:
  type: ClusterIP
  selector:
    jointinferenceservice.sedna.io/name: {{ .name | quote }}
    jointinferenceservice.sedna.io/worker-type: cloud
  ports:
    - name: tcp-0
      protocol: TCP
      port: 5000
      targetPort: 5000
{{- $identity := list
      (dict "name" "NAMESPACE" "value" .namespace)
      (dict "name" "SERVICE_NAME" "value" .name) }}
---
{{- $cloud := concat $identity (list
      (dict "name" "WORKER_NAME" "value" .cloud.workerName)
      (dict "name" "JOB_NAME" "value" .name)
      (dict "name" "MODEL_URL" "value" .cloud.modelUrl)
      (dict "name" "DATA_PATH_PREFIX" "value" "/home/data")
      (dict "name" "BIG_MODEL_BIND_PORT" "value" "5000")
      (dict "name" "BIG_MODEL_BIND_IP" "value" "0.0.0.0")) }}
{{- include "pod" (dict "service" . "worker" .cloud "type" "cloud" "env" $cloud "defaults" dict) }}
---
{{- $edge := concat $identity (list
      (dict "name" "WORKER_NAME" "value" .edge.workerName)
      (dict "name" "JOB_NAME" "value" .name)
      (dict "name" "MODEL_URL" "value" .edge.modelUrl)
      (dict "name" "DATA_PATH_PREFIX" "value" "/home/data")
      (dict "name" "BIG_MODEL_IP" "value" $address)
      (dict "name" "BIG_MODEL_PORT" "value" "5000")
      (dict "name" "HEM_NAME" "value" .edge.hardExampleMining.name)
      (dict "name" "HEM_PARAMETERS" "value" (toJson .edge.hardExampleMining.parameters))
      (dict "name" "LC_SERVER" "value" "http://localhost:9100")) }}
{{- $host := dict "hostNetwork" true "dnsPolicy" "ClusterFirstWithHostNet" }}
{{- include "pod" (dict "service" . "worker" .edge "type" "edge" "env" $edge "defaults" $host) }}
{{- end }}
"""


def chart(fleet: str, rendered: str, folder: str) -> None:
    """A chart, and one values file for all services, beside it."""
    _write(os.path.join(folder, "chart", "Chart.yaml"), CHART)
    _write(os.path.join(folder, "chart", "templates", "fleet.yaml"), CHART_TEMPLATE)
    services = [
        _values(documents(path)[0], _by_role(documents(output)))
        for path, output in zip(files(fleet), files(rendered), strict=True)
    ]
    _write(os.path.join(folder, "values.json"), json.dumps({"services": services}))


def _values(service: Manifest, manifests: dict[str, Manifest]) -> dict[str, Any]:
    metadata = service["metadata"]
    source = manifests["Service-cloud"]["metadata"]["annotations"]["render.sedna.io/source"]
    workers = {
        role: service["spec"][f"{role}Worker"] | _derived(manifests[f"Pod-{role}"])
        for role in ("cloud", "edge")
    }
    return {"name": metadata["name"], "namespace": metadata["namespace"], "source": source, **workers}


def _derived(pod: Manifest) -> dict[str, str]:
    """What a chart cannot compute, or only with pains: taken from our own result."""
    (container,) = pod["spec"]["containers"]
    env = {entry["name"]: entry["value"] for entry in container["env"]}
    volume, mount = pod["spec"]["volumes"][-1], container["volumeMounts"][-1]
    return {
        "workerName": env["WORKER_NAME"],
        "modelUrl": env["MODEL_URL"],
        "volume": volume["name"],
        "folder": volume["hostPath"]["path"],
        "mountPath": mount["mountPath"],
    }


def overlays(rendered: str, folder: str, count: str) -> None:
    """One base, so many overlays of it with a patch for each object, and a kustomization that lists them."""
    outputs = files(rendered)[: int(count)]
    base = _by_role(documents(outputs[0]))
    _write_json(os.path.join(folder, "base", "kustomization.yaml"), {"resources": ["all.yaml"]})
    named = [
        manifest | {"metadata": manifest["metadata"] | {"name": role}} for role, manifest in _short(base)
    ]
    _write(os.path.join(folder, "base", "all.yaml"), "\n---\n".join(json.dumps(item) for item in named))
    names = [f"overlay-{number:05}" for number in range(len(outputs))]
    for name, output in zip(names, outputs, strict=True):
        overlay = _overlay(base, _by_role(documents(output)))
        _write_json(os.path.join(folder, name, "kustomization.yaml"), overlay)
    _write_json(os.path.join(folder, "kustomization.yaml"), {"resources": names})


def _overlay(base: dict[str, Manifest], wanted: dict[str, Manifest]) -> dict[str, Any]:
    patches = []
    for role, manifest in wanted.items():
        operations = [
            {"op": "replace", "path": path, "value": value}
            for path, value in _differences(base[role], manifest, "")
            if path != "/metadata/name"
        ]
        if operations:
            kind, _, name = role.partition("-")
            patches.append({"target": {"kind": kind, "name": name}, "patch": json.dumps(operations)})
    prefix = wanted["Service-cloud"]["metadata"]["name"].removesuffix("cloud")
    return {"resources": ["../base"], "namePrefix": prefix, "patches": patches}


def _short(manifests: dict[str, Manifest]) -> list[tuple[str, Manifest]]:
    return [(role.partition("-")[2], manifest) for role, manifest in manifests.items()]


def _differences(old: Any, new: Any, path: str) -> list[tuple[str, Any]]:
    """The JSON pointers at which two values of one shape differ, each with the new value."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        pairs = [(f"{path}/{_escaped(key)}", old[key], new[key]) for key in old]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(f"{path}/{index}", *both) for index, both in enumerate(zip(old, new, strict=True))]
    else:
        return [] if old == new else [(path, new)]
    return [found for place, before, after in pairs for found in _differences(before, after, place)]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def equal(rendered: str, output: str, count: str) -> None:
    """Fail unless a peer's output holds the same objects as ours, all of them."""
    ours = [item for path in files(rendered)[: int(count)] for item in documents(path)]
    theirs = [item for item in documents(output) if item]
    wanted, found = _by_identity(ours), _by_identity(theirs)
    different = [identity for identity in wanted | found if wanted.get(identity) != found.get(identity)]
    if different or len(theirs) != len(ours):
        first = different[0] if different else "none"
        details = json.dumps([wanted.get(first), found.get(first)], indent=1)
        sys.exit(f"{output}: {len(different)} objects differ from ours, the first is {first}:\n{details}")


def _by_role(manifests: list[Manifest]) -> dict[str, Manifest]:
    return {f"{item['kind']}-{item['metadata']['name'].rpartition('-')[2]}": item for item in manifests}


def _by_identity(manifests: list[Manifest]) -> dict[str, Manifest]:
    return {
        f"{item['kind']} {item['metadata']['namespace']}/{item['metadata']['name']}": item
        for item in manifests
    }


def _write_json(path: str, data: Any) -> None:
    _write(path, json.dumps(data))


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    {"chart": chart, "overlays": overlays, "equal": equal}[sys.argv[1]](*sys.argv[2:])
