/*
 * A pod template: the fields that pods of many classes share. That is everything
 * scheduling reads except identity, labels, requests and volumes, so a pod that differs
 * from all others in one of these costs a class (spec.h) of a few words.
 *
 * Immutable and interned. One block of memory: fixed fields, then rows of several kinds.
 */
#ifndef SHARDSCHED_MODEL_POD_TEMPLATE_H
#define SHARDSCHED_MODEL_POD_TEMPLATE_H

#include "shardsched/model/node_selector.h"
#include "shardsched/model/pod_draft.h"
#include "shardsched/model/pod_term.h"
#include "shardsched/model/taints.h"

struct spec_port {
	uint32_t ip; /* "0.0.0.0" when the port has none */
	uint16_t port;
	uint8_t protocol; /* enum spec_protocol */
	uint8_t zero;
};

enum spec_protocol { SPEC_TCP, SPEC_UDP, SPEC_SCTP, SPEC_PROTOCOL_OTHER };

struct spec_spread {
	const struct selector *selector; /* includes the requirements of matchLabelKeys */
	uint32_t topology_key;
	int32_t max_skew;
	int32_t min_domains; /* 0: absent, which counts as 1 */
	uint8_t hard;        /* DoNotSchedule */
	uint8_t affinity;    /* nodes that node affinity refuses do not count */
	uint8_t taints;      /* nodes with taints that are not tolerated do not count */
	uint8_t zero;
};

struct spec_term {
	const struct pod_term *term;
	int64_t weight; /* 0: required */
};

/* X(name, type): rows behind the fixed fields, in the order of the pod; images by
 * number, one for each container. */
#define TEMPLATE_ROWS_MAP(X)                    \
	X(affinity, struct spec_term)           \
	X(anti_affinity, struct spec_term)      \
	X(soft_affinity, struct spec_term)      \
	X(soft_anti_affinity, struct spec_term) \
	X(spreads, struct spec_spread)          \
	X(ports, struct spec_port)              \
	X(images, uint32_t)                     \
	X(gates, uint32_t)

struct template_rows {
	uint16_t count;
};

struct pod_template {
	struct intern_item item;
	uint32_t scheduler;
	const struct labels *node_selector;    /* empty when there is none */
	const struct node_selector *required;  /* NULL: none */
	const struct node_selector *preferred; /* NULL: none */
	const struct tolerations *tolerations;
	/* The requests as LeastAllocated counts them where that differs from the
	 * requests; else both are 0. */
	int64_t nonzero_cpu_milli;
	int64_t nonzero_memory;
	uint32_t owner_kind; /* the controller's; 0: there is none */
	uint32_t owner_api;  /* "apps/v1" */
	uint32_t gang;       /* the name; 0: none */
	int32_t gang_min;
	uint32_t gang_domain; /* topology key whose value all nodes of the gang share; 0:
			       * none */
	uint32_t zero;
#define TEMPLATE_ROWS_FIELD(name, type) struct template_rows name;
	TEMPLATE_ROWS_MAP(TEMPLATE_ROWS_FIELD)
};

_Static_assert(sizeof(struct pod_template) % 8 == 0,
               "rows follow at once, the wide ones first");

#define TEMPLATE_ROWS_ENUM(name, type) TEMPLATE_ROWS_##name,
enum template_rows_kind { TEMPLATE_ROWS_MAP(TEMPLATE_ROWS_ENUM) TEMPLATE_ROWS_END };

/* Where the rows of that kind begin: behind all rows before them. The compiler makes a
 * sum of constants and counts of it. */
static inline size_t template_rows_at(const struct pod_template *template,
                                      enum template_rows_kind kind)
{
	size_t at = sizeof *template;

#define TEMPLATE_ROWS_ADD(name, type)    \
	if (TEMPLATE_ROWS_##name < kind) \
		at += (size_t) template->name.count * sizeof(type);
	TEMPLATE_ROWS_MAP(TEMPLATE_ROWS_ADD)
	return at;
}

/* template_ports(template) is the first of template->ports.count rows, and so on. */
#define TEMPLATE_ROWS_GET(name, type)                                                  \
	static inline const type *template_##name(const struct pod_template *template) \
	{                                                                              \
		const char *start = (const char *)template;                            \
		return (const type *)(const void *)(start +                            \
		                                    template_rows_at(                  \
							    template,                  \
							    TEMPLATE_ROWS_##name));    \
	}
TEMPLATE_ROWS_MAP(TEMPLATE_ROWS_GET)

/* The annotations by which a pod joins a gang: its name, the least number of members, and
 * the topology key for which all their nodes share one value. */
#define SPEC_GANG_ANNOTATION "placet.io/gang"
#define SPEC_GANG_MIN_ANNOTATION "placet.io/gang-min"
#define SPEC_GANG_DOMAIN_ANNOTATION "placet.io/gang-domain"
enum { SPEC_GANG_MOST = 1000000 };

struct spec_requests;

/* nonzero: the requests as LeastAllocated counts them; NULL: they equal the requests.
 * Returns NULL when the maker has failed. */
const struct pod_template *pod_template_make(struct maker *maker,
                                             const struct pod_draft *draft,
                                             const struct spec_requests *nonzero);

#endif
