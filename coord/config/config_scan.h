/*
 * Which versions of a configuration there are: current, and the keys beside it, read
 * in pages. The first step of every command; embedded in its operation.
 */
#ifndef COORD_CONFIG_CONFIG_SCAN_H
#define COORD_CONFIG_CONFIG_SCAN_H

#include "coord/config/config_read.h"
#include "coord/config/config_record.h"

/* err NULL: the fields below are filled in. */
typedef void config_scan_fn(void *ctx, const struct pl_err *err);

struct config_scan {
	struct kv *kv;
	enum config_name name;
	uint64_t deadline_ms;
	config_scan_fn *done;
	void *ctx;
	struct kv_call *call; /* NULL: nothing is in flight */

	uint64_t current;          /* 0: none, or it can not be read */
	int64_t current_rev;       /* its mod revision; 0: there is no such key */
	struct pl_err current_err; /* PL_OK unless it can not be read */
	uint64_t highest;          /* version that is there; 0: none */
	uint64_t previous;         /* highest below current; 0: none */
	uint64_t count;            /* of versions that are there */
	/* The last of them: version i (from 0) at i % CONFIG_HISTORY_MAX. */
	uint64_t ring[CONFIG_HISTORY_MAX];
};

/* What is left until the deadline, at least 1. */
uint64_t config_time_left(struct kv *kv, uint64_t deadline_ms);

/* kv, name, deadline_ms, done and ctx are set; everything else is 0. */
PL_NODISCARD enum pl_code config_scan_start(struct config_scan *scan, struct pl_err *err);
/* done follows, if the scan has not ended yet. */
void config_scan_cancel(struct config_scan *scan);

#endif
