/*
 * Drafts: parts of objects as they were written. Values are typed and text is borrowed
 * from the JSON; nothing is validated except that each value has the right type.
 *
 * Absent, null and empty are the same here, as they are to Kubernetes, except where a
 * bool tells them apart.
 */
#ifndef SHARDSCHED_MODEL_DRAFT_H
#define SHARDSCHED_MODEL_DRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/quantity.h"
#include "store/base/span.h"

struct draft_texts {
	struct pl_span *at;
	uint32_t count;
};

struct draft_pair {
	struct pl_span key;
	struct pl_span value;
};

struct draft_pairs {
	struct draft_pair *at;
	uint32_t count;
};

/* Rounded up to thousandths, as the API server stores them. */
struct draft_amount {
	struct pl_span name;
	struct pl_quantity quantity;
};

struct draft_amounts {
	struct draft_amount *at;
	uint32_t count;
	bool set;
};

struct draft_requirement {
	struct pl_span key;
	struct pl_span op;
	struct draft_texts values;
};

struct draft_requirements {
	struct draft_requirement *at;
	uint32_t count;
};

/* set false: a null selector, which matches nothing. */
struct draft_selector {
	struct draft_pairs labels;
	struct draft_requirements expressions;
	bool set;
};

struct draft_node_term {
	struct draft_requirements expressions;
	struct draft_requirements fields;
	int32_t weight; /* of a preferred term; 0 in required ones */
};

struct draft_node_terms {
	struct draft_node_term *at;
	uint32_t count;
	bool set;
};

struct draft_pod_term {
	struct draft_selector selector;
	struct draft_selector namespace_selector;
	struct draft_texts namespaces;
	struct pl_span topology_key;
	int32_t weight;
};

struct draft_pod_terms {
	struct draft_pod_term *at;
	uint32_t count;
};

struct draft_taint {
	struct pl_span key;
	struct pl_span value;
	struct pl_span effect;
	int64_t added_ms; /* timeAdded; 0: absent */
};

struct draft_taints {
	struct draft_taint *at;
	uint32_t count;
};

struct draft_toleration {
	struct pl_span key;
	struct pl_span op;
	struct pl_span value;
	struct pl_span effect;
	bool has_seconds;
	int64_t seconds;
};

struct draft_tolerations {
	struct draft_toleration *at;
	uint32_t count;
};

struct draft_owner {
	struct pl_span api_version;
	struct pl_span kind;
	struct pl_span name;
	struct pl_span uid;
	bool controller;
};

struct draft_meta {
	struct pl_span name;
	struct pl_span generate_name;
	struct pl_span namespace;
	struct pl_span uid;
	struct draft_pairs labels;
	struct draft_pairs annotations;
	struct draft_owner *owners;
	uint32_t owner_count;
	int64_t created_ms; /* 0: absent */
	int64_t deleted_ms; /* 0: not being deleted */
};

/* The owner that is the controller; NULL: none. */
const struct draft_owner *draft_controller(const struct draft_meta *meta);

/* The value of that key; at NULL: the key is absent. */
struct pl_span draft_get(struct draft_pairs pairs, struct pl_span key);

#endif
