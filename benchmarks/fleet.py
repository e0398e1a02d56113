"""Input as a fleet has it: one file a service, with its two Models, as in Sedna's helmet detection example."""

from __future__ import annotations

import os

CONFIG = """\
apiVersion: render.sedna.io/v1alpha1
kind: RenderConfig
expose: EdgeMesh
"""

# 1 service and 2 models: 86 lines, 2.6 KB, with the comments and the quotes that people write.
SERVICE = """\
apiVersion: sedna.io/v1alpha1
kind: JointInferenceService
metadata:
  name: helmet-detection-{number:05}
  namespace: site-{site:03}
spec:
  edgeWorker:
    model:
      name: "helmet-detection-little-model-{number:05}"
    hardExampleMining:
      name: "IBT"
      parameters:
        - key: "threshold_img"
          value: "0.9"
        - key: "threshold_box"
          value: "0.9"
    template:
      spec:
        nodeName: edge-node-{number:05}
        dnsPolicy: ClusterFirstWithHostNet
        containers:
        - image: kubeedge/sedna-example-joint-inference-helmet-detection-little:v0.3.0
          imagePullPolicy: IfNotPresent
          name:  little-model
          env:  # user defined environments
          - name: input_shape
            value: "416,736"
          - name: "video_url"
            value: "rtsp://localhost/video-{number}"
          - name: "all_examples_inference_output"
            value: "/data/output"
          - name: "hard_example_cloud_inference_output"
            value: "/data/hard_example_cloud_inference_output"
          - name: "hard_example_edge_inference_output"
            value: "/data/hard_example_edge_inference_output"
          resources:  # user defined resources
            requests:
              memory: 64M
              cpu: 100m
            limits:
              memory: 2Gi
          volumeMounts:
            - name: outputdir
              mountPath: /data/
        volumes:   # user defined volumes
          - name: outputdir
            hostPath:
              # user must create the directory in host
              path: /joint_inference/output
              type: Directory

  cloudWorker:
    model:
      name: "helmet-detection-big-model-{number:05}"
    template:
      spec:
        nodeName: cloud-node-{site:03}
        dnsPolicy: ClusterFirstWithHostNet
        containers:
          - image: kubeedge/sedna-example-joint-inference-helmet-detection-big:v0.3.0
            name:  big-model
            imagePullPolicy: IfNotPresent
            env:  # user defined environments
              - name: "input_shape"
                value: "544,544"
            resources:  # user defined resources
              requests:
                memory: 2Gi
---
apiVersion: sedna.io/v1alpha1
kind: Model
metadata:
  name: helmet-detection-big-model-{number:05}
  namespace: site-{site:03}
spec:
  url: "/data/big-model-{number:05}/yolov3_darknet.pb"
  format: "pb"
---
apiVersion: sedna.io/v1alpha1
kind: Model
metadata:
  name: helmet-detection-little-model-{number:05}
  namespace: site-{site:03}
spec:
  url: "/data/little-model-{number:05}/yolov3_resnet18.pb"
  format: "pb"
"""

SERVICES_A_SITE = 25


def write(folder: str, count: int) -> str:
    """A folder with the files of so many services, and a configuration; its path."""
    os.makedirs(folder)
    _write(os.path.join(folder, "sedna-render.yaml"), CONFIG)
    for number in range(count):
        text = SERVICE.format(number=number, site=number // SERVICES_A_SITE)
        _write(os.path.join(folder, f"helmet-detection-{number:05}.yaml"), text)
    return folder


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
