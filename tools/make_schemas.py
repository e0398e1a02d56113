"""Make the schemas that the renderer ships out of Sedna's own CRDs; for developers, never needed at run time.

    python tools/make_schemas.py sedna.io_jointinferenceservices.yaml sedna.io_models.yaml [FOLDER]

The two files lie in Sedna's repository under ``build/crds``. Written to FOLDER, which is ``sedna_render/schemas``
unless another is named: ``joint_inference_service.json``, ``model.json``, and ``kubernetes.json``, which holds what
the former shares with the other schemas there (those are written by hand). What is kept are facts: names, types,
what is required. Equal parts are stored once, under ``definitions``. Needs PyYAML.

A new release of the CRD: run this, read the diff, and remove from ``NEWER`` what the CRD has learnt by then (the
program says what).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

Schema = dict[str, Any]

TARGET = Path(__file__).resolve().parent.parent / "sedna_render" / "schemas"
KEPT = ("type", "format", "pattern", "required", "enum")
UNDERSTOOD = ("string", "boolean", "integer", "object", "array", None)
#: A sub-schema whose text is shorter than this is cheaper repeated than referred to.
WORTH_SHARING = 70

STRING: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
INT32: Schema = {"type": "integer", "format": "int32"}
INT64: Schema = {"type": "integer", "format": "int64"}
QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
QUANTITY: Schema = {"type": ["integer", "string"], "pattern": QUANTITY_PATTERN}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _object(required: str = "", **properties: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return schema | {"required": required.split()} if required else schema


#: Fields of a pod that Kubernetes up to 1.37 knows and Sedna's CRD (made from Kubernetes 0.30) does not, by the
#: object that has them; "" is the pod spec. From Kubernetes' OpenAPI document; ``workloadRef`` is 1.35's.
NEWER: dict[str, dict[str, Schema]] = {
    "": {
        "evictionResponders": _list(_object("name priority", name=STRING, priority=INT32)),
        "hostnameOverride": STRING,
        "resources": _object(
            claims=_list(_object("name", name=STRING, request=STRING)),
            limits=_map(QUANTITY),
            requests=_map(QUANTITY),
        ),
        "schedulingGroup": _object(podGroupName=STRING),
        "workloadRef": _object("name podGroup", name=STRING, podGroup=STRING, podGroupReplicaKey=STRING),
    },
    "containers[]": {
        "restartPolicyRules": _list(
            _object(
                "action",
                action=STRING,
                exitCodes=_object("operator", operator=STRING, values=_list(INT32)),
            )
        ),
    },
    "containers[].resources.claims[]": {"request": STRING},
    "containers[].volumeMounts[]": {"bindMountOptions": _list(STRING)},
    "env[].valueFrom": {
        "fileKeyRef": _object(
            "key path volumeName", key=STRING, optional=BOOLEAN, path=STRING, volumeName=STRING
        ),
    },
    "grpc": {"mode": STRING},
    "httpGet": {"protocol": STRING},
    "lifecycle": {"stopSignal": STRING},
    "resourceClaims[]": {"resourceClaimName": STRING, "resourceClaimTemplateName": STRING},
    ".securityContext": {"seLinuxChangePolicy": STRING, "supplementalGroupsPolicy": STRING},
    "volumes[]": {"image": _object(pullPolicy=STRING, reference=STRING)},
    "volumes[].configMap": {"defaultUser": INT64},
    "volumes[].downwardAPI": {"defaultUser": INT64},
    "volumes[].projected": {"defaultUser": INT64},
    "volumes[].secret": {"defaultUser": INT64},
    "volumes[].emptyDir": {"mode": INT32},
    "items[]": {"user": INT64},
    "clusterTrustBundle": {"user": INT64},
    "serviceAccountToken": {"user": INT64},
    "sources[]": {
        "podCertificate": _object(
            "keyType signerName",
            certificateChainPath=STRING,
            credentialBundlePath=STRING,
            keyPath=STRING,
            keyType=STRING,
            maxExpirationSeconds=INT32,
            signerName=STRING,
            user=INT64,
            userAnnotations=_map(STRING),
        ),
    },
    # Of the horizontal autoscaler.
    "behavior.scaleDown": {"tolerance": QUANTITY},
    "behavior.scaleUp": {"tolerance": QUANTITY},
}


def stripped(schema: Schema) -> Schema:
    """The schema without descriptions, defaults and hints: only what decides whether a value is right."""
    if schema.get("type") not in UNDERSTOOD:
        sys.exit(f"sedna_render.schema does not know values of type {schema['type']}: teach it first")
    facts = {key: schema[key] for key in KEPT if key in schema}
    if schema.get("x-kubernetes-int-or-string"):
        facts["type"] = ["integer", "string"]
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        facts["x-kubernetes-preserve-unknown-fields"] = True
    if "properties" in schema:
        facts["properties"] = {
            name: stripped(schema["properties"][name]) for name in sorted(schema["properties"])
        }
    if "items" in schema:
        facts["items"] = stripped(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        facts["additionalProperties"] = stripped(schema["additionalProperties"])
    return facts


def with_newer_fields(schema: Schema, path: str = "", root: str = "") -> Schema:
    """The schema of a pod spec (or of `root`) together with the fields of ``NEWER``."""
    extended = dict(schema)
    if "items" in schema:
        extended["items"] = with_newer_fields(schema["items"], f"{path}[]", root)
    properties = {
        name: with_newer_fields(sub, f"{path}.{name}", root)
        for name, sub in schema.get("properties", {}).items()
    }
    for name, sub in newer_fields(root + path).items():
        if name in properties:
            sys.stderr.write(f"the CRD knows {path}.{name} by now: remove it from NEWER\n")
        properties.setdefault(name, sub)
    if path.endswith("volumeClaimTemplate.metadata"):  # an open object in the CRD
        return {"$ref": "object_meta.json#/definitions/ObjectMeta"}
    if properties:
        extended["properties"] = dict(sorted(properties.items()))
    return extended


def newer_fields(path: str) -> dict[str, Schema]:
    """What ``NEWER`` has for the object at `path`; the three lists of containers are alike."""
    alike = path.replace(".initContainers", ".containers").replace(".ephemeralContainers", ".containers")
    fields: dict[str, Schema] = {}
    for place, newer in NEWER.items():
        exact = place == "" or place.startswith(".")
        if alike == place if exact else f".{place}" == alike[-len(place) - 1 :]:
            fields |= newer
    return fields


def text(schema: Schema) -> str:
    """The schema as compact JSON, equal for equal schemas."""
    return json.dumps(schema, sort_keys=True, separators=(",", ":"))


def parts(schema: Schema) -> list[Schema]:
    """The sub-schemas directly below a schema."""
    below = list(schema.get("properties", {}).values())
    return below + [schema[key] for key in ("items", "additionalProperties") if key in schema]


def count(schema: Schema, counts: Counter[str]) -> None:
    """Count how often each sub-schema occurs; what lies inside a repeated one is counted once."""
    own = text(schema)
    counts[own] += 1
    if counts[own] == 1:
        for part in parts(schema):
            count(part, counts)


class Sharing:
    """The definitions made so far while equal sub-schemas are replaced by references."""

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        self.names: dict[str, str] = {}
        self.definitions: dict[str, Schema] = {}

    def share(self, schema: Schema, name: str) -> Schema:
        """The schema, or a reference to the definition that holds it."""
        own = text(schema)
        if "$ref" in schema or self.counts[own] == 1 or len(own) < WORTH_SHARING:
            return self.inside(schema, name)
        if own not in self.names:
            self.names[own] = self.unused(name)
            self.definitions[self.names[own]] = self.inside(schema, name)
        return {"$ref": f"#/definitions/{self.names[own]}"}

    def inside(self, schema: Schema, name: str) -> Schema:
        """The schema with everything below it shared."""
        shared = dict(schema)
        if "properties" in schema:
            shared["properties"] = {key: self.share(sub, key) for key, sub in schema["properties"].items()}
        for key in ("items", "additionalProperties"):
            if key in schema:
                shared[key] = self.share(schema[key], name)
        return shared

    def unused(self, name: str) -> str:
        """A name for a definition: that of the field where it is first met, numbered if need be."""
        taken = set(self.names.values())
        numbered = (f"{name}{number}" for number in range(2, 1000))
        return name if name not in taken else next(other for other in numbered if other not in taken)


def shared_definitions(schemas: dict[str, Schema]) -> Schema:
    """One document whose definitions are `schemas` and the parts that they share."""
    counts: Counter[str] = Counter()
    for schema in schemas.values():
        count(schema, counts)
    sharing = Sharing(counts)
    named = {name: sharing.inside(schema, name) for name, schema in schemas.items()}
    return {"definitions": named | sharing.definitions}


def root_schema(path: str) -> Schema:
    """The stripped schema of the newest version in the CRD file at `path`."""
    crd = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    root = stripped(crd["spec"]["versions"][-1]["schema"]["openAPIV3Schema"])
    root["properties"]["status"] = {"x-kubernetes-preserve-unknown-fields": True}  # exported, never read
    root["properties"]["metadata"] = {"$ref": "object_meta.json#/definitions/NamedObjectMeta"}
    root["required"] = sorted({*root["required"], "metadata"})
    return root


def write(folder: Path, name: str, schema: Schema) -> None:
    """Write one schema, compact; a line for each definition, so that a diff can be read."""
    if "definitions" in schema:
        lines = ",\n".join(f"{json.dumps(key)}:{text(sub)}" for key, sub in schema["definitions"].items())
        content = f'{{"definitions":{{\n{lines}\n}}}}\n'
    else:
        content = text(schema) + "\n"
    (folder / name).write_text(content, encoding="utf-8", newline="\n")


def main(service_crd: str, model_crd: str, folder: Path = TARGET) -> None:
    """Write the three generated schemas."""
    service = root_schema(service_crd)
    workers = service["properties"]["spec"]["properties"]
    edge, cloud = workers["edgeWorker"]["properties"], workers["cloudWorker"]["properties"]
    parts_of_a_worker = (edge["template"], edge["hpa"])
    if parts_of_a_worker != (cloud["template"], cloud["hpa"]):
        sys.exit("the two workers of this CRD have different templates: this program must learn about it")
    shared = {
        "PodSpec": with_newer_fields(edge["template"]["properties"]["spec"]),
        "Autoscaling": with_newer_fields(edge["hpa"], root="hpa"),
    }
    for worker in (edge, cloud):
        worker["hpa"] = {"$ref": "kubernetes.json#/definitions/Autoscaling"}
        worker["template"]["properties"] = {
            "metadata": {"$ref": "object_meta.json#/definitions/ObjectMeta"},
            "spec": {"$ref": "kubernetes.json#/definitions/PodSpec"},
        }
    write(folder, "joint_inference_service.json", service)
    write(folder, "kubernetes.json", shared_definitions(shared))
    write(folder, "model.json", root_schema(model_crd))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if len(arguments) not in {2, 3}:
        sys.exit(__doc__)
    main(arguments[0], arguments[1], *map(Path, arguments[2:]))
