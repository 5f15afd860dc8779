/*
 * The deletion of many objects of a resource: those of a namespace, or those that pass a
 * filter. Pods are asked to go, 64 in a transaction; others are deleted as they were seen,
 * and what has changed meanwhile is looked at again.
 *
 *	walk --batch--> writes, pod requests --> walk ... --> end --nothing changed--> done
 *	  ^                                                     |
 *	  `-- the informer is as new as the store --------------' some changed meanwhile
 */
#ifndef COORD_API_VERBS_DELETER_H
#define COORD_API_VERBS_DELETER_H

#include "coord/api/verbs/change.h"

struct deleter;

struct deleter_opts {
	const struct schema_resource *resource;
	struct pl_span namespace;           /* empty: all */
	const struct object_filter *filter; /* borrowed; NULL: all */
	int64_t grace_s;                    /* of pods; 0: at once, -1: as they say */
	bool dry_run;
	/* count: objects that are gone or going. err NULL: all that were there at the
	 * beginning; PL_CONFLICT: some keep changing; PL_CORRUPT: a pod that
	 * cannot be read stays. The deleter is gone. */
	void (*done)(void *ctx, uint64_t count, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code deleter_start(struct api *api, const struct deleter_opts *opts,
                                        struct pl_err *err);

#endif
