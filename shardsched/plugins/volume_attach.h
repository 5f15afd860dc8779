/*
 * What is attached to a node for its pods' volumes: each volume once, however many pods
 * use it. A claim that has no volume yet stands for the one that it will get.
 *
 * Volumes of some clouds are named in two ways: by themselves (in-tree), or by a CSI
 * driver. A node that CSI knows has them as CSI volumes, whatever they are named.
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
/* Which volumes are looked at: in-tree ones of a cloud, or those of CSI. */
enum attach_kind { ATTACH_MAP(ATTACH_ENUM) ATTACH_KINDS, ATTACH_CSI = ATTACH_KINDS };

struct attach_scope {
	const struct snapshot *snapshot;
	enum attach_kind kind;
	bool by_csi;                   /* the node is one that CSI knows */
	uint32_t name[ATTACH_KINDS];   /* of provisioners; 0: nobody names it */
	uint32_t driver[ATTACH_KINDS]; /* likewise, but never 0 */
};

void attach_scope_init(struct attach_scope *scope, const struct snapshot *snapshot,
                       enum attach_kind kind);
/* Of a driver as it stands in struct attached. */
struct pl_span attach_driver_text(const struct attach_scope *scope, uint32_t driver);

struct attached {
	uint32_t driver; /* 0 of in-tree ones */
	uint32_t id;     /* a handle; or a namespace, */
	uint32_t claim;  /* and the claim in it that has no volume; 0 */
};

/* false: nothing of that kind is attached for it. */
bool attach_of(const struct attach_scope *scope, struct claim_owner owner,
               const struct spec_volume *volume, struct attached *out);

/* Of one driver: what a pod would bring, and what is there. */
struct attach_count {
	uint32_t driver;
	uint32_t added;
	uint32_t present;
};

/* What a pod would attach, each once; then scratch for what a node has. */
struct attach_load {
	struct attached *wanted;
	uint32_t wanted_count;
	struct attach_count *count; /* by driver */
	uint32_t drivers;
	struct attached *present; /* scratch */
	uint32_t present_count;
	uint32_t present_cap;
};

/* false: the arena is full. */
bool attach_load_make(const struct attach_scope *scope, struct claim_owner owner,
                      struct pl_arena *arena, struct attach_load *out);
/* Fills in count for that node. What is there is counted exactly only if it might be too
 * much: most[driver's index], below 0: any number. */
void attach_load_count(const struct attach_scope *scope, struct attach_load *load,
                       uint32_t slot, const int64_t *most, struct pl_arena *arena);

/* Hint of all who count: a pod that comes helps where it attaches what the other one
 * wants, as a volume counts once a node. */
bool attach_hint(const struct plugin_call *call, const struct queue_event *event);

#endif
