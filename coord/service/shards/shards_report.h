/*
 * A shards report: what a shards view says, once it is whole, and as it changes if that is
 * asked for. The lists of this folder are made of one.
 *
 *	        whole                      cancel, or not follow
 *	OPENING ------> note ALL --> OPEN ----------------------> STOPPING --> done
 *	   |                          `-- note ... --'               ^
 *	   `-- not whole in time, failed, cancel --------------------'
 *
 * Invariant: the view may be read in a note, and only there.
 */
#ifndef COORD_SERVICE_SHARDS_SHARDS_REPORT_H
#define COORD_SERVICE_SHARDS_SHARDS_REPORT_H

#include "coord/service/base/service.h"
#include "coord/service/shards/shards_view.h"

struct shards_report;

struct shards_report_opts {
	unsigned wanted; /* SHARDS_VIEW_ROSTER, ... */
	bool follow;     /* goes on until it is canceled */
	/* ALL first; then, with follow, ALL, SHARD, OWNER and TROUBLE. Any result but
	 * PL_OK ends the report with err. */
	enum pl_code (*note)(void *ctx, const struct shards_view *view,
	                     const struct shards_view_note *note, struct pl_err *err);
	/* PL_TIMEOUT, or the trouble that kept the view from being whole within the
	 * service's timeout. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code shards_report_start(const struct service *service,
                                              const struct shards_report_opts *opts,
                                              struct shards_report **out,
                                              struct pl_err *err);
void shards_report_cancel(struct shards_report *report);

#endif
