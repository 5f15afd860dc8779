/* Storage objects that scheduling reads: StorageClass, CSINode, CSIDriver,
 * CSIStorageCapacity. */
#ifndef SHARDSCHED_MODEL_STORAGE_H
#define SHARDSCHED_MODEL_STORAGE_H

#include "shardsched/model/node_selector.h"
#include "shardsched/model/parse.h"

struct storage_class {
	uint32_t name;
	uint32_t provisioner;
	const struct node_selector *topologies; /* NULL: all nodes */
	bool waits;                             /* WaitForFirstConsumer */
};

struct csi_limit {
	uint32_t driver;
	int32_t volumes; /* how many may be attached; -1: any number */
};

struct csi_node {
	uint32_t node;
	uint32_t count;
	struct csi_limit *limits; /* owned */
};

struct csi_driver {
	uint32_t name;
	bool attaches;     /* attachRequired */
	bool has_capacity; /* storageCapacity: look at what is left */
};

struct csi_capacity {
	uint32_t namespace;
	uint32_t name;
	uint32_t class;
	const struct selector *nodes; /* nodeTopology: a null one reaches none */
	int64_t bytes;                /* -1: absent */
	int64_t bytes_max;            /* of one volume; -1: absent */
};

/* A parsed object holds references until it is dropped; dropping a zeroed object does
 * nothing. */
PL_NODISCARD enum pl_code storage_class_parse(struct parse *parse, struct pl_span json,
                                              struct storage_class *out,
                                              struct pl_err *err);
void storage_class_drop(struct model *model, struct storage_class *storage_class);

PL_NODISCARD enum pl_code csi_node_parse(struct parse *parse, struct pl_span json,
                                         struct csi_node *out, struct pl_err *err);
void csi_node_drop(struct model *model, struct csi_node *node);

PL_NODISCARD enum pl_code csi_driver_parse(struct parse *parse, struct pl_span json,
                                           struct csi_driver *out, struct pl_err *err);
void csi_driver_drop(struct model *model, struct csi_driver *driver);

PL_NODISCARD enum pl_code csi_capacity_parse(struct parse *parse, struct pl_span json,
                                             struct csi_capacity *out,
                                             struct pl_err *err);
void csi_capacity_drop(struct model *model, struct csi_capacity *capacity);

#endif
