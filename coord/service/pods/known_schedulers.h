/*
 * Known schedulers: the scheduler names that the configuration `scheduler` has a profile
 * for. A pod that names another one is never placed.
 */
#ifndef COORD_SERVICE_PODS_KNOWN_SCHEDULERS_H
#define COORD_SERVICE_PODS_KNOWN_SCHEDULERS_H

#include "store/base/arena.h"
#include "store/base/json.h"

/* An all-zero value: the schedulers are not known. */
struct known_schedulers {
	struct pl_json profiles;
	bool known;
};

/* content: of the configuration (config_content.h); borrowed. */
struct known_schedulers known_schedulers_of(struct pl_json content);

/* The scheduler that a pod's spec names, when it has no profile. Empty: it has one, or
 * the schedulers are not known. Borrows from the arena. */
struct pl_span known_schedulers_missing(const struct known_schedulers *known_schedulers,
                                        struct pl_span spec, struct pl_arena *arena);

#endif
