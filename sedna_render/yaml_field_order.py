"""The order of fields in what we write: as people write Kubernetes objects by hand. Pure."""

from __future__ import annotations

#: Known fields, the first come first; all others follow, sorted. One list does for all kinds of mappings.
_FIELDS = """
    apiVersion kind metadata
    generateName name namespace labels annotations
    key operator value valueFrom values effect tolerationSeconds
    type spec
    scaleTargetRef minReplicas maxReplicas metrics behavior
    replicas strategy rollingUpdate selector matchLabels matchExpressions
    edgeWorker cloudWorker
    model hardExampleMining parameters hpa
    template
    nodeName nodeSelector affinity tolerations topologySpreadConstraints
    schedulerName priorityClassName runtimeClassName
    hostNetwork hostPID hostIPC hostAliases hostname subdomain dnsPolicy dnsConfig
    restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds
    serviceAccountName serviceAccount automountServiceAccountToken imagePullSecrets
    initContainers
    image imagePullPolicy command args workingDir
    containers
    protocol port containerPort targetPort nodePort hostPort hostIP
    ports envFrom env
    resources requests limits cpu memory
    volumeMounts mountPath subPath subPathExpr readOnly mountPropagation
    volumeDevices
    startupProbe livenessProbe readinessProbe
    exec httpGet tcpSocket grpc path
    initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold
    lifecycle securityContext terminationMessagePath terminationMessagePolicy stdin stdinOnce tty
    volumes
    hostPath persistentVolumeClaim claimName configMap secret secretName secretKeyRef configMapKeyRef
    emptyDir medium sizeLimit defaultMode items optional
    clusterIP externalTrafficPolicy
    data stringData status
""".split()  # noqa: SIM905  # words are easier to move about than literals
_RANKS = {name: rank for rank, name in enumerate(_FIELDS)}

#: Fields whose keys are names that users choose: sorted, whatever the names are.
FREE_KEYS = frozenset(
    ("labels", "annotations", "matchLabels", "nodeSelector", "requests", "limits", "data", "stringData")
)


def ordered(names: tuple[str, ...]) -> list[str]:
    """Field names in the order in which they are written.

    >>> ordered(("image", "zeta", "args", "alpha", "name"))
    ['name', 'image', 'args', 'alpha', 'zeta']
    """
    return sorted(names, key=lambda name: (_RANKS.get(name, len(_RANKS)), name))
