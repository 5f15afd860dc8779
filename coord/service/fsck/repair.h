/*
 * Repairs what the core of fsck found and what can be derived: the alloc of a node
 * from the pods that are bound there, a lost pointer from its pod, a registry from
 * what pods carry, a lock from the registries, a state from the alloc that it names or
 * that lists its pod. Everything is read again and written with compares on all that
 * it was derived from, so a repair is correct whatever happens at the same time.
 */
#ifndef COORD_SERVICE_FSCK_REPAIR_H
#define COORD_SERVICE_FSCK_REPAIR_H

#include "coord/service/fsck/fsck_core.h"
#include "store/kv/kv.h"

enum repair_outcome {
	REPAIR_DONE,
	REPAIR_WOULD,  /* a dry run */
	REPAIR_RIGHT,  /* no repair is needed any more */
	REPAIR_REFUSED /* why has the reason */
};

struct repair_result {
	enum repair_outcome outcome;
	struct pl_span key;
	struct pl_span value; /* DONE, WOULD: the value that is written; empty: the key
	                       * is deleted */
	const char *why;      /* REFUSED */
};

struct repair_opts {
	const struct fsck_core *core; /* ended; outlives the repair */
	uint32_t partitions;
	int64_t revision; /* revision of the check: no generation is greater */
	bool dry_run;
	uint64_t timeout_ms, patience_ms; /* as in bulk_writer.h */
	void (*report)(void *ctx, const struct repair_result *result);
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

struct repair;

PL_NODISCARD enum pl_code repair_open(struct kv *kv, const struct repair_opts *opts,
                                      struct repair **out, struct pl_err *err);
/* done follows, later. */
void repair_cancel(struct repair *repair);

#endif
