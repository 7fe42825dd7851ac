"""Texts of enumerations: what the other package writes -> what it can be here. Differences of case need no row."""

TEXTS = {
    # Bottlenecks of a device, of weight streaming and of a data path.
    "Compute-Bound": ("compute",),
    "Interconnect-Bandwidth-Bound": ("memory", "network"),
    "Storage": ("storage", "shared_storage"),
    "Interconnect": ("host_link",),
    # What limits a replica that serves.
    "Base Latency": ("base_latency",),
    "Tail Latency": ("queueing",),
    "Feasible": ("none",),
    # Families of models.
    "Transformer": ("decoder", "encoder"),
    "Transformer MoE": ("decoder",),
    "Vision Transformer": ("encoder",),
    "Diffusion/U-Net": ("diffusion",),
    "Diffusion Policy": ("diffusion",),
    "DLRM": ("recommendation",),
    # Topologies.
    "fat-tree": ("fat_tree",),
}
