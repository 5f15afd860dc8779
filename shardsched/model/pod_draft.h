/*
 * A pod as it was written, with the API server's defaults: requests from limits,
 * host ports of hostNetwork pods, protocol TCP, amounts rounded to thousandths,
 * the pool of an rbd volume, the scheduler's name.
 */
#ifndef SHARDSCHED_MODEL_POD_DRAFT_H
#define SHARDSCHED_MODEL_POD_DRAFT_H

#include "shardsched/model/draft.h"
#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/json.h"

struct draft_port {
	struct pl_span name;
	struct pl_span protocol;
	struct pl_span host_ip;
	int32_t container_port;
	int32_t host_port;
};

struct draft_container {
	struct pl_span name;
	struct pl_span image;
	struct draft_amounts limits;
	struct draft_amounts requests;
	struct draft_port *ports;
	uint32_t port_count;
};

struct draft_containers {
	struct draft_container *at;
	uint32_t count;
};

enum draft_source {
	DRAFT_OTHER, /* a kind without meaning for scheduling, or an emptyDir */
	DRAFT_CLAIM,
	DRAFT_EPHEMERAL,
	DRAFT_GCE,
	DRAFT_AWS,
	DRAFT_ISCSI,
	DRAFT_RBD,
	DRAFT_AZURE,
	DRAFT_SOURCE_COUNT,
};

struct draft_volume {
	struct pl_span name;
	enum draft_source source;
	struct pl_span id;     /* claimName, pdName, volumeID, iqn, image, diskName */
	struct pl_span pool;   /* rbd */
	struct pl_span portal; /* iscsi */
	struct draft_texts monitors;
	int32_t number; /* lun or partition */
	bool read_only;
	uint32_t sources; /* number of sources in the volume */
	bool has_template;
	struct draft_texts modes;       /* of the claim template of an ephemeral volume */
	struct draft_amounts requested; /* by the claim template of an ephemeral volume */
};

struct draft_spread {
	struct draft_selector selector;
	struct draft_texts match_keys;
	struct pl_span topology_key;
	struct pl_span when;
	struct pl_span affinity_policy;
	struct pl_span taints_policy;
	int32_t max_skew;
	int32_t min_domains;
	bool has_min_domains;
};

struct pod_draft {
	struct draft_meta meta;
	struct draft_containers containers;
	struct draft_containers init;
	struct draft_volume *volumes;
	uint32_t volume_count;
	struct draft_spread *spreads;
	uint32_t spread_count;
	struct draft_tolerations tolerations;
	struct draft_texts gates;
	struct draft_pairs node_selector;
	struct draft_node_terms required;
	struct draft_node_terms preferred;
	struct draft_pod_terms affinity;
	struct draft_pod_terms soft_affinity;
	struct draft_pod_terms anti_affinity;
	struct draft_pod_terms soft_anti_affinity;
	struct draft_amounts overhead;
	struct pl_span node_name;
	struct pl_span scheduler_name;
	struct pl_span priority_class;
	struct pl_span runtime_class;
	struct pl_span preemption;
	bool has_preemption;
	bool host_network;
	int32_t priority; /* 0: absent */
	struct pl_span phase;
	struct pl_span nominated;
	int64_t started_ms; /* 0: absent */
	bool preempted;     /* a scheduler deletes it to make room */
};

/* Everything in out lives in arena, within the reader's bound. err may not be NULL.
 * PL_INVALID and PL_LIMIT name the field. out is complete only on PL_OK. */
PL_NODISCARD enum pl_code pod_draft_read(struct pl_arena *arena, struct pl_span json,
                                         struct pod_draft *out, struct pl_err *err);
PL_NODISCARD enum pl_code pod_draft_read_tree(struct pl_arena *arena, struct pl_json root,
                                              struct pod_draft *out, struct pl_err *err);

#endif
