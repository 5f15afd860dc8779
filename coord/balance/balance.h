/*
 * The balancer: while it leads it samples the members' loads from time to time and
 * writes a better table of weights when there is one. balance_core decides; this
 * driver reads the roster and edits the configuration.
 */
#ifndef COORD_BALANCE_BALANCE_H
#define COORD_BALANCE_BALANCE_H

#include "coord/config/config.h"
#include "coord/elect/elect.h"
#include "coord/membership/roster.h"

struct balance;

enum balance_what { BALANCE_WROTE, BALANCE_TROUBLE, BALANCE_STOPPED };

struct balance_note {
	enum balance_what what;
	uint64_t version;      /* WROTE: version of the new table */
	double worst, planned; /* WROTE: load of the fullest member over the mean,
	                        * before the table and as predicted */
	uint32_t moves;
	const struct pl_err *err;
};

typedef void balance_fn(void *ctx, const struct balance_note *note);

struct balance_opts {
	uint32_t partitions;
	const struct roster *roster; /* roster and elect outlive the balancer */
	const struct elect *elect;
	struct pl_span id; /* the shard's id, written as the table's author; copied */
	int64_t (*wall_ms)(void *ctx);
};

PL_NODISCARD enum pl_code balance_open(struct kv *kv, const struct balance_opts *opts,
                                       balance_fn *fn, void *ctx, struct balance **out,
                                       struct pl_err *err);
/* Sets the applied configuration; called at first and at each change. The values are
 * copied. */
void balance_config(struct balance *balance, const struct config_coord *coord,
                    const struct config_shards *shards,
                    const struct config_weights *weights, uint64_t weights_version);
void balance_lead(struct balance *balance, bool leading);
void balance_stop(struct balance *balance);

#endif
