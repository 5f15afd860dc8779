/*
 * The janitor, one of the elected roles: while it leads it compacts behind the writers
 * and removes garbage. The driver of janitor_core.
 */
#ifndef COORD_JANITOR_JANITOR_H
#define COORD_JANITOR_JANITOR_H

#include "coord/config/config.h"
#include "coord/elect/elect.h"

struct janitor;

enum janitor_what {
	JANITOR_COMPACTED, /* revision */
	JANITOR_HELD,      /* revision, key: this pin keeps the compaction from going
	                    * further */
	JANITOR_REMOVED,   /* key: removed as garbage; err: the reason */
	JANITOR_TROUBLE,   /* err; what failed is tried again */
	JANITOR_STOPPED,
};

struct janitor_note {
	enum janitor_what what;
	int64_t revision;
	struct pl_span key;
	const struct pl_err *err;
};

typedef void janitor_fn(void *ctx, const struct janitor_note *note);

PL_NODISCARD enum pl_code janitor_open(struct kv *kv, const struct elect *elect,
                                       uint64_t seed, janitor_fn *fn, void *ctx,
                                       struct janitor **out, struct pl_err *err);
void janitor_config(struct janitor *janitor, const struct config_coord *coord);
void janitor_lead(struct janitor *janitor, bool leading);
/* The store is another one, so the compacted revision means nothing any more. */
void janitor_rewound(struct janitor *janitor);
void janitor_stop(struct janitor *janitor);

#endif
