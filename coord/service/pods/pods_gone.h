/*
 * Pods gone: waits until some pods have neither spec nor state.
 *
 * Invariant: `left` holds the pods that are still there, or that were not looked for yet;
 * it may be read at any time.
 */
#ifndef COORD_SERVICE_PODS_PODS_GONE_H
#define COORD_SERVICE_PODS_PODS_GONE_H

#include "coord/service/base/service.h"
#include "coord/service/pods/pod_filter.h"
#include "coord/service/pods/pod_watch.h"

struct pods_gone;

struct pods_gone_opts {
	uint64_t timeout_ms; /* 0: however long it takes */
	/* The store can not be read now; it is tried again. */
	void (*trouble)(void *ctx, const struct pl_err *err);
	/* err NULL: all are gone. PL_TIMEOUT: some are still there. Anything in pods_gone
	 * can be read until pods_gone_done, which may be called in here. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* The caller's memory; it must not move while it waits. */
struct pods_gone {
	struct pl_map left; /* by "namespace/name" */
	bool in_partition[KEYS_PARTITIONS_MAX];
	uint64_t total;
	/* While it waits. */
	struct pods_gone_opts opts;
	struct pod_watch *watch; /* NULL: it has stopped */
	struct pl_timer end;     /* the time is up; or done is due */
	struct pl_err failure;
	bool over;
};

void pods_gone_init(struct pods_gone *gone);
void pods_gone_done(struct pods_gone *gone);
PL_NODISCARD enum pl_code pods_gone_add(struct pods_gone *gone, uint32_t partition,
                                        const struct pod_name *pod, struct pl_err *err);

PL_NODISCARD enum pl_code pods_gone_start(struct pods_gone *gone,
                                          const struct service *service,
                                          const struct pods_gone_opts *opts,
                                          struct pl_err *err);
void pods_gone_cancel(struct pods_gone *gone);

#endif
