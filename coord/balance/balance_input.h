/*
 * The input of the balancer: the members of the roster, their factors from the table,
 * and the assignment that follows from both. It is kept from look to look, so that a
 * look costs only what has changed.
 */
#ifndef COORD_BALANCE_BALANCE_INPUT_H
#define COORD_BALANCE_BALANCE_INPUT_H

#include "coord/balance/balance_core.h"
#include "coord/config/config.h"
#include "coord/membership/roster.h"
#include "store/base/map.h"

struct balance_input {
	uint32_t partitions;
	struct pl_map peers; /* members that the roster or the table has, by id */
	struct assign *assign;
	struct balance_member *members;
	uint32_t cap, count;
	uint16_t *reporter;
	uint32_t *load;
	uint64_t looks;
	struct balance_view view;
};

PL_NODISCARD enum pl_code balance_input_init(struct balance_input *input,
                                             uint32_t partitions, struct pl_err *err);
void balance_input_done(struct balance_input *input);

/* *out is valid until the next look. */
PL_NODISCARD enum pl_code balance_input_look(struct balance_input *input,
                                             const struct roster *roster,
                                             const struct config_shards *shards,
                                             const struct config_weights *weights,
                                             uint64_t now_ms, struct balance_view **out,
                                             struct pl_err *err);

#endif
