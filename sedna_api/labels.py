"""Label and annotation keys that the renderer writes and the reconciler (or a user) reads.

A leaf of constants. A changed key orphans every object that is already in a cluster.
"""

from __future__ import annotations

from typing import Final

#: The service that a worker belongs to; its value is the service's name, never shortened.
SERVICE_NAME: Final = "jointinferenceservice.sedna.io/name"
#: ``cloud`` or ``edge``.
WORKER_TYPE: Final = "jointinferenceservice.sedna.io/worker-type"

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGED_BY_RENDERER: Final = "sedna-render"

#: What every annotation that this program acts on, or writes, begins with.
ANNOTATION_PREFIX: Final = "render.sedna.io/"
#: Written: the file that an object was rendered from.
SOURCE: Final = f"{ANNOTATION_PREFIX}source"

#: Read from a JointInferenceService.
WORKLOAD: Final = f"{ANNOTATION_PREFIX}workload"
EXPOSE: Final = f"{ANNOTATION_PREFIX}expose"
BIG_MODEL_PORT: Final = f"{ANNOTATION_PREFIX}big-model-port"
BIG_MODEL_ADDRESS: Final = f"{ANNOTATION_PREFIX}big-model-address"
CLOUD_ADDRESS: Final = f"{ANNOTATION_PREFIX}cloud-address"
NODE_PORT: Final = f"{ANNOTATION_PREFIX}node-port"

#: Read from a Model.
MODEL_MOUNT: Final = f"{ANNOTATION_PREFIX}model-mount"
S3_ENDPOINT: Final = f"{ANNOTATION_PREFIX}s3-endpoint"

#: Read from a Secret: Sedna's own convention, kept.
SECRET_S3_ENDPOINT: Final = "s3-endpoint"
SECRET_S3_USE_HTTPS: Final = "s3-usehttps"
