/*
 * What the balancer sees: members from the roster, their factors from the table, and
 * the assignment that follows from both, kept from look to look.
 */
#ifndef COORD_BALANCE_EYES_H
#define COORD_BALANCE_EYES_H

#include "coord/balance/balance_core.h"
#include "coord/config/config.h"
#include "coord/member/roster.h"
#include "store/base/map.h"

struct eyes {
	uint32_t partitions;
	struct pl_map peers; /* who is in the roster or in the table */
	struct assign *assign;
	struct balance_member *members;
	uint32_t cap, count;
	uint16_t *reporter;
	uint32_t *load;
	uint64_t looks;
	struct balance_view view;
};

PL_NODISCARD enum pl_code eyes_init(struct eyes *eyes, uint32_t partitions,
                                    struct pl_err *err);
void eyes_done(struct eyes *eyes);

/* *out is good until the next look. */
PL_NODISCARD enum pl_code eyes_look(struct eyes *eyes, const struct roster *roster,
                                    const struct config_shards *shards,
                                    const struct config_weights *weights, uint64_t now_ms,
                                    struct balance_view **out, struct pl_err *err);

#endif
