"""The status reconciler: watches pods, writes `.status` of JointInferenceServices, and nothing else."""
