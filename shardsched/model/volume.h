/* A PersistentVolume and a PersistentVolumeClaim, as far as scheduling reads them. */
#ifndef SHARDSCHED_MODEL_VOLUME_H
#define SHARDSCHED_MODEL_VOLUME_H

#include "shardsched/model/node_selector.h"
#include "shardsched/model/parse.h"

enum {
	VOLUME_RWO = 1 << 0,  /* ReadWriteOnce */
	VOLUME_ROX = 1 << 1,  /* ReadOnlyMany */
	VOLUME_RWX = 1 << 2,  /* ReadWriteMany */
	VOLUME_RWOP = 1 << 3, /* ReadWriteOncePod */
};

enum volume_phase {
	VOLUME_PENDING, /* also when the phase is absent */
	VOLUME_AVAILABLE,
	VOLUME_BOUND,
	VOLUME_RELEASED,
	VOLUME_FAILED,
	VOLUME_LOST, /* a claim */
	VOLUME_OTHER,
};

/* Where a volume is stored, as far as scheduling reads it: for limits of attached
 * volumes, and for the place of a local volume. */
enum volume_source {
	VOLUME_ON_OTHER,
	VOLUME_ON_CSI,
	VOLUME_ON_LOCAL, /* a disk of one machine */
	VOLUME_ON_AWS,   /* awsElasticBlockStore: handle is its volumeID */
	VOLUME_ON_GCE,   /* gcePersistentDisk: its pdName */
	VOLUME_ON_AZURE, /* azureDisk: its diskName */
};

struct volume {
	uint32_t name;
	uint32_t uid;
	const struct labels *labels;
	const struct node_selector *reachable; /* NULL: from everywhere */
	int64_t bytes;                         /* capacity */
	uint32_t class;                        /* never 0; perhaps the empty name */
	uint32_t driver;                       /* CSI; 0: another kind of volume */
	uint32_t handle;
	uint32_t claim_namespace; /* claimRef; claim_name 0: none */
	uint32_t claim_name;
	uint32_t claim_uid; /* 0: absent */
	uint16_t modes;
	uint8_t phase;  /* enum volume_phase */
	uint8_t source; /* enum volume_source */
	bool block;     /* volumeMode */
	bool deleted;
};

struct claim {
	uint32_t namespace;
	uint32_t name;
	uint32_t uid;
	uint32_t class;                  /* never 0; perhaps the empty name */
	uint32_t volume;                 /* volumeName; 0: none */
	uint32_t selected_node;          /* by the annotation; 0: none */
	uint32_t owner_uid;              /* of its controller; 0: none */
	const struct selector *selector; /* NULL: any volume */
	int64_t bytes;                   /* requested */
	uint16_t modes;
	uint8_t phase;
	bool block;
	bool bind_completed; /* the annotation pv.kubernetes.io/bind-completed */
	bool deleted;
};

/* A parsed object holds references until it is dropped; dropping a zeroed object does
 * nothing. */
PL_NODISCARD enum pl_code volume_parse(struct parse *parse, struct pl_span json,
                                       struct volume *out, struct pl_err *err);
void volume_drop(struct model *model, struct volume *volume);

PL_NODISCARD enum pl_code claim_parse(struct parse *parse, struct pl_span json,
                                      struct claim *out, struct pl_err *err);
void claim_drop(struct model *model, struct claim *claim);

#endif
