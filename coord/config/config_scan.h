/*
 * A scan: which versions of a configuration there are, and which one is current, read
 * in pages. It is the first step of every operation on a configuration and is embedded
 * in it.
 */
#ifndef COORD_CONFIG_CONFIG_SCAN_H
#define COORD_CONFIG_CONFIG_SCAN_H

#include "coord/config/config_read.h"
#include "coord/config/config_record.h"

/* err NULL: the fields of the scan below are filled in. */
typedef void config_scan_fn(void *ctx, const struct pl_err *err);

struct config_scan {
	struct kv *kv;
	enum config_name name;
	uint64_t deadline_ms;
	config_scan_fn *done;
	void *ctx;
	struct kv_call *call; /* NULL: nothing is in flight */

	uint64_t current;          /* 0: there is none, or it does not parse */
	int64_t current_rev;       /* the key's mod revision; 0: no such key */
	struct pl_err current_err; /* PL_OK unless current does not parse */
	uint64_t highest;          /* highest version that there is; 0: none */
	uint64_t previous;         /* highest version below current; 0: none */
	uint64_t count;            /* number of versions found */
	/* The newest CONFIG_HISTORY_MAX versions: version i (from 0) at i %
	 * CONFIG_HISTORY_MAX. */
	uint64_t ring[CONFIG_HISTORY_MAX];
};

/* Milliseconds until the deadline, at least 1. */
uint64_t config_time_left(struct kv *kv, uint64_t deadline_ms);

/* The caller sets kv, name, deadline_ms, done and ctx; everything else is 0. */
PL_NODISCARD enum pl_code config_scan_start(struct config_scan *scan, struct pl_err *err);
/* done follows, unless the scan has ended already. */
void config_scan_cancel(struct config_scan *scan);

#endif
