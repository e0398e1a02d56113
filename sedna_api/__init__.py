"""What the renderer and the reconciler must agree on: kinds, labels, annotations, worker types.

A leaf of constants: standard library only, no logic, imports nothing of this project.
"""

from __future__ import annotations

from typing import Final, Literal

GROUP: Final = "sedna.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

KIND_SERVICE: Final = "JointInferenceService"
KIND_MODEL: Final = "Model"
PLURAL_SERVICE: Final = "jointinferenceservices"
PLURAL_MODEL: Final = "models"

WorkerType = Literal["cloud", "edge"]

CLOUD: Final = "cloud"
EDGE: Final = "edge"
#: Both worker types, in the order in which they are rendered and reported.
WORKER_TYPES: Final[tuple[WorkerType, ...]] = (CLOUD, EDGE)
