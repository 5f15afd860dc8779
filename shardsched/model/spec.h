/*
 * The class of a pod: everything of it that scheduling reads but who it is.
 *
 * Immutable and shared: two pods that are alike in it have the same address, so
 * what was worked out for one holds for the other. (A pod with a claim that is named
 * after it also depends on its name: SPEC_BY_NAME.) Labels that only tell replicas apart
 * stand beside it: identity.h.
 *
 * One block of memory: fixed fields, then rows of several kinds.
 */
#ifndef SHARDSCHED_MODEL_SPEC_H
#define SHARDSCHED_MODEL_SPEC_H

#include "shardsched/model/node_selector.h"
#include "shardsched/model/pod_draft.h"
#include "shardsched/model/pod_term.h"
#include "shardsched/model/resources.h"
#include "shardsched/model/taints.h"

enum {
	SPEC_NEVER_PREEMPTS = 1 << 0,
	SPEC_HOST_NETWORK = 1 << 1,
	SPEC_BY_NAME = 1 << 2, /* a claim is named after the pod: own_name.h */
};

enum spec_sla { SPEC_SLA_NONE, SPEC_SLA_BRONZE, SPEC_SLA_SILVER, SPEC_SLA_GOLD };

struct spec_port {
	uint32_t ip; /* of "0.0.0.0" when none was given */
	uint16_t port;
	uint8_t protocol; /* enum spec_protocol */
	uint8_t zero;
};

enum spec_protocol { SPEC_TCP, SPEC_UDP, SPEC_SCTP, SPEC_PROTOCOL_OTHER };

struct spec_spread {
	const struct selector *selector; /* with the pod's own matchLabelKeys */
	uint32_t topology_key;
	int32_t max_skew;
	int32_t min_domains; /* 0: not said, which counts as 1 */
	uint8_t hard;        /* DoNotSchedule */
	uint8_t affinity;    /* nodes that node affinity refuses do not count */
	uint8_t taints;      /* nodes with taints that are not tolerated do not count */
	uint8_t zero;
};

struct spec_volume {
	uint32_t kind; /* enum draft_source, DRAFT_OTHER left out */
	uint32_t name; /* of the volume */
	uint32_t id;   /* claim, disk, iqn or image; where own, the claim's pattern */
	uint32_t pool; /* rbd */
	uint32_t read_only;
	uint32_t first; /* of its monitors */
	uint32_t monitors;
	uint32_t own; /* the claim is named after the pod: own_name.h */
};

struct spec_term {
	const struct pod_term *term;
	int64_t weight; /* 0: required */
};

/* X(name, type): rows behind the fixed fields, in the order of the pod; images by
 * number, one for each container. */
#define SPEC_ROWS_MAP(X)                        \
	X(affinity, struct spec_term)           \
	X(anti_affinity, struct spec_term)      \
	X(soft_affinity, struct spec_term)      \
	X(soft_anti_affinity, struct spec_term) \
	X(spreads, struct spec_spread)          \
	X(volumes, struct spec_volume)          \
	X(ports, struct spec_port)              \
	X(images, uint32_t)                     \
	X(gates, uint32_t)                      \
	X(monitors, uint32_t)

struct spec_rows {
	uint16_t count;
};

struct spec {
	struct intern_item item;
	uint32_t namespace;
	const struct labels *labels;
	const struct labels *node_selector;    /* empty when there is none */
	const struct node_selector *required;  /* NULL: none */
	const struct node_selector *preferred; /* NULL: none */
	const struct tolerations *tolerations;
	const struct resources *requests; /* what fitting counts */
	int64_t nonzero_cpu_milli;        /* what LeastAllocated counts */
	int64_t nonzero_memory;
	uint32_t scheduler;
	uint32_t owner_kind; /* the controller's; 0: there is none */
	uint32_t owner_api;  /* "apps/v1" */
	uint32_t owner_name;
	uint32_t owner_uid;
	uint32_t gang; /* the name; 0: none */
	int32_t gang_min;
	int32_t priority;
	uint16_t flags;
	uint16_t sla;         /* enum spec_sla */
	uint32_t gang_domain; /* topology key, of which all want one value; 0: none */
#define SPEC_ROWS_FIELD(name, type) struct spec_rows name;
	SPEC_ROWS_MAP(SPEC_ROWS_FIELD)
};

_Static_assert(sizeof(struct spec) % 8 == 0, "rows follow at once, the wide ones first");

#define SPEC_ROWS_ENUM(name, type) SPEC_ROWS_##name,
enum spec_rows_kind { SPEC_ROWS_MAP(SPEC_ROWS_ENUM) SPEC_ROWS_END };

/* Where rows of that kind begin: behind all before. A sum of constants and counts. */
static inline size_t spec_rows_at(const struct spec *spec, enum spec_rows_kind kind)
{
	size_t at = sizeof *spec;

#define SPEC_ROWS_ADD(name, type)    \
	if (SPEC_ROWS_##name < kind) \
		at += (size_t)spec->name.count * sizeof(type);
	SPEC_ROWS_MAP(SPEC_ROWS_ADD)
	return at;
}

/* spec_ports(spec) is the first of spec->ports.count rows, and so on. */
#define SPEC_ROWS_GET(name, type)                                                    \
	static inline const type *spec_##name(const struct spec *spec)               \
	{                                                                            \
		const char *start = (const char *)spec;                              \
		return (const type *)(const void *)(start +                          \
		                                    spec_rows_at(spec,               \
		                                                 SPEC_ROWS_##name)); \
	}
SPEC_ROWS_MAP(SPEC_ROWS_GET)

/* Where a pod says that it belongs to a gang, of how many at least, and which label all
 * their nodes are to have in common. */
#define SPEC_GANG_ANNOTATION "placet.io/gang"
#define SPEC_GANG_MIN_ANNOTATION "placet.io/gang-min"
#define SPEC_GANG_DOMAIN_ANNOTATION "placet.io/gang-domain"
enum { SPEC_GANG_MOST = 1000000 };

/* With a reference. PL_LIMIT, with the field: requests that
 * add up to more than can be counted; PL_NOMEM. err may not be NULL. */
PL_NODISCARD enum pl_code spec_make(struct model *model, struct pl_arena *arena,
                                    const struct pod_draft *draft,
                                    const struct spec **out, struct identity *beside,
                                    struct pl_err *err);

/* The class of a pod of that name with those labels put in that stood beside it, as
 * identity_due says; with a reference, while the old one's stays. PL_NOMEM. */
PL_NODISCARD enum pl_code spec_join(struct model *model, struct pl_arena *arena,
                                    const struct spec *spec, uint32_t name,
                                    const struct identity *beside, uint32_t due,
                                    const struct spec **out, struct pl_err *err);

#endif
