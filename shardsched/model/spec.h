/*
 * The spec, or class, of a pod: everything that scheduling reads of a pod except its
 * identity.
 *
 * Immutable and interned: two pods with equal specs have the same address, so results for
 * one hold for the other. (A pod with a claim that is named after it also depends on its
 * name: SPEC_BY_NAME.) Labels that only tell replicas apart are left out: identity.h.
 * Fields that many classes share are in their template: pod_template.h.
 *
 * One block of memory: fixed fields, then volumes, then the texts of volumes and the
 * owner.
 */
#ifndef SHARDSCHED_MODEL_SPEC_H
#define SHARDSCHED_MODEL_SPEC_H

#include "shardsched/model/pod_template.h"
#include "shardsched/model/resources.h"

enum {
	SPEC_NEVER_PREEMPTS = 1 << 0,
	SPEC_HOST_NETWORK = 1 << 1,
	SPEC_BY_NAME = 1 << 2, /* a claim is named after the pod: claim_pattern.h */
	SPEC_NONZERO = 1 << 3, /* LeastAllocated counts the requests as they are */
};

enum spec_sla { SPEC_SLA_NONE, SPEC_SLA_BRONZE, SPEC_SLA_SILVER, SPEC_SLA_GOLD };

struct spec_volume {
	uint32_t name; /* the volume's name in the pod */
	uint32_t id;   /* claim, disk, iqn or image; where own, the claim's pattern */
	uint8_t kind;  /* enum draft_source, DRAFT_OTHER left out */
	uint8_t read_only;
	uint8_t own; /* the claim is named after the pod: claim_pattern.h */
	uint8_t zero;
	uint16_t
		first; /* index of its first text; for rbd: the pool, then the monitors */
	uint16_t monitors;
};

struct spec {
	struct intern_item item;
	uint32_t namespace;
	const struct pod_template *template;
	const struct labels *labels;
	const struct resources *requests; /* the requests that fitting counts */
	int32_t priority;
	uint8_t flags;
	uint8_t sla; /* enum spec_sla */
	uint16_t volumes;
	uint16_t texts;  /* number of texts: of volumes, then of the owner */
	uint16_t by_rbd; /* texts that belong to rbd volumes */
	uint8_t zero[4];
};

_Static_assert(sizeof(struct spec) == 64, "there may be one for each pod");

static inline const struct spec_volume *spec_volumes(const struct spec *spec)
{
	return (const struct spec_volume *)(const void *)(spec + 1);
}

static inline const uint32_t *spec_texts(const struct spec *spec)
{
	return (const uint32_t *)(const void *)(spec_volumes(spec) + spec->volumes);
}

/* The pool of an rbd volume; 0: the volume is of another kind. */
static inline uint32_t spec_pool(const struct spec *spec,
                                 const struct spec_volume *volume)
{
	return volume->kind == DRAFT_RBD ? spec_texts(spec)[volume->first] : 0;
}

/* The first of volume->monitors. */
static inline const uint32_t *spec_monitors(const struct spec *spec,
                                            const struct spec_volume *volume)
{
	return spec_texts(spec) + volume->first + 1;
}

/* The controller's name; 0: no controller. The next text is its uid. */
static inline uint32_t spec_owner_name(const struct spec *spec)
{
	return spec->texts == spec->by_rbd ? 0 : spec_texts(spec)[spec->by_rbd];
}

static inline uint32_t spec_owner_uid(const struct spec *spec)
{
	return spec->texts == spec->by_rbd ? 0 : spec_texts(spec)[spec->by_rbd + 1];
}

/* spec_ports(spec) is the first of spec->template->ports.count rows, and so on. */
#define SPEC_ROWS_GET(name, type)                                      \
	static inline const type *spec_##name(const struct spec *spec) \
	{                                                              \
		return template_##name(spec->template);                \
	}
TEMPLATE_ROWS_MAP(SPEC_ROWS_GET)

/* The requests as LeastAllocated counts them. */
static inline int64_t spec_nonzero_cpu_milli(const struct spec *spec)
{
	return (spec->flags & SPEC_NONZERO) != 0 ? spec->requests->cpu_milli
	                                         : spec->template->nonzero_cpu_milli;
}

static inline int64_t spec_nonzero_memory(const struct spec *spec)
{
	return (spec->flags & SPEC_NONZERO) != 0 ? spec->requests->memory
	                                         : spec->template->nonzero_memory;
}

/* Returns the spec with a reference. PL_LIMIT, with the field: the requests add up to
 * more than can be counted; PL_NOMEM. err may not be NULL. */
PL_NODISCARD enum pl_code spec_make(struct model *model, struct pl_arena *arena,
                                    const struct pod_draft *draft,
                                    const struct spec **out,
                                    struct identity_labels *identity, struct pl_err *err);

/* The class of the pod of that name with the identity labels in due added
 * (identity_due_labels). Returns it with a reference; the reference to the old class
 * stays. PL_NOMEM. */
PL_NODISCARD enum pl_code spec_promote_labels(struct model *model, struct pl_arena *arena,
                                              const struct spec *spec, uint32_t name,
                                              const struct identity_labels *identity,
                                              uint32_t due, const struct spec **out,
                                              struct pl_err *err);

#endif
