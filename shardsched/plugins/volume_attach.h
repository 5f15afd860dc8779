/*
 * Volumes that are attached to a node for its pods: each volume counts once, however many
 * pods use it. A claim without a volume stands for the one that it will get.
 *
 * Volumes of some clouds are named in two ways: by themselves (in-tree) or by a CSI
 * driver. A node with a CSINode has them as CSI volumes, whatever they are named.
 */
#ifndef SHARDSCHED_PLUGINS_VOLUME_ATTACH_H
#define SHARDSCHED_PLUGINS_VOLUME_ATTACH_H

#include "shardsched/plugins/volume_claims.h"

/* X(KIND, as a volume of a pod, as a volume, in-tree name, CSI driver) */
#define ATTACH_MAP(X)                                                                \
	X(AWS, DRAFT_AWS, VOLUME_ON_AWS, "kubernetes.io/aws-ebs", "ebs.csi.aws.com") \
	X(GCE, DRAFT_GCE, VOLUME_ON_GCE, "kubernetes.io/gce-pd",                     \
	  "pd.csi.storage.gke.io")                                                   \
	X(AZURE, DRAFT_AZURE, VOLUME_ON_AZURE, "kubernetes.io/azure-disk",           \
	  "disk.csi.azure.com")

#define ATTACH_ENUM(kind, draft, source, name, driver) ATTACH_##kind,
/* Which volumes count: in-tree ones of a cloud, or CSI volumes. */
enum attach_kind { ATTACH_MAP(ATTACH_ENUM) ATTACH_KINDS, ATTACH_CSI = ATTACH_KINDS };

struct attach_scope {
	const struct snapshot *snapshot;
	enum attach_kind kind;
	bool by_csi;                   /* the node has a CSINode */
	uint32_t name[ATTACH_KINDS];   /* of provisioners; 0: no object names it */
	uint32_t driver[ATTACH_KINDS]; /* of CSI drivers; never 0 */
};

void attach_scope_init(struct attach_scope *scope, const struct snapshot *snapshot,
                       enum attach_kind kind);
/* The name of a driver in struct attached. */
struct pl_span attach_driver_text(const struct attach_scope *scope, uint32_t driver);

struct attached {
	uint32_t driver; /* 0 for in-tree volumes */
	uint32_t id;     /* a handle; or the namespace of claim */
	uint32_t claim;  /* a claim without a volume; 0: none */
};

/* false: no volume of that kind is attached for it. */
bool attach_of(const struct attach_scope *scope, struct claim_owner owner,
               const struct spec_volume *volume, struct attached *out);

/* For one driver: how many volumes the pod adds to the node, and how many are present. */
struct attach_count {
	uint32_t driver;
	uint32_t added;
	uint32_t present;
};

/* The volumes that a pod wants attached, each once, and scratch memory for the volumes of
 * a node. */
struct attach_load {
	struct attached *wanted;
	uint32_t wanted_count;
	struct attach_count *count; /* by driver */
	uint32_t drivers;
	struct attached *present; /* scratch: volumes of the node */
	uint32_t present_count;
	uint32_t present_cap;
};

/* false: the arena is full. */
bool attach_load_make(const struct attach_scope *scope, struct claim_owner owner,
                      struct pl_arena *arena, struct attach_load *out);
/* Sets count for that node. Present volumes are counted exactly only if they may exceed
 * the limit: most[index of the driver]; negative: no limit. */
void attach_load_count(const struct attach_scope *scope, struct attach_load *load,
                       uint32_t slot, const int64_t *most, struct pl_arena *arena);

/* Hint of all plugins with limits: a pod that was placed helps where it attaches a volume
 * that the waiting pod wants, since a volume counts once for a node. */
bool attach_hint(const struct plugin_call *call, const struct queue_event *event);

#endif
