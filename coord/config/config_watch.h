/*
 * Follows which version of each configuration is applied: /config/ listed and watched.
 * A version that does not pass its schema is reported once and not applied; the last
 * good version stays, at first the default (version 0).
 */
#ifndef COORD_CONFIG_CONFIG_WATCH_H
#define COORD_CONFIG_CONFIG_WATCH_H

#include "coord/config/config.h"
#include "store/kv/kv.h"

struct config_watch;

enum config_what {
	CONFIG_SYNCED,  /* everything that is there has been applied; again after LOST */
	CONFIG_APPLIED, /* name, version, value */
	CONFIG_REFUSED, /* name, version, err: current names a version that is not
	                 * applied */
	CONFIG_LOST,
	CONFIG_TROUBLE,
	CONFIG_STOPPED,
};

struct config_note {
	enum config_what what;
	enum config_name name;
	uint64_t version;
	const struct config_value *value;
	const struct pl_err *err;
};

typedef void config_fn(void *ctx, const struct config_note *note);

PL_NODISCARD enum pl_code config_watch_open(struct kv *kv, uint64_t seed, config_fn *fn,
                                            void *ctx, struct config_watch **out,
                                            struct pl_err *err);
void config_watch_stop(struct config_watch *watch);

/* The applied value; borrowed until the next APPLIED of that name. */
const struct config_value *config_watch_value(const struct config_watch *watch,
                                              enum config_name name);
uint64_t config_watch_version(const struct config_watch *watch, enum config_name name);
/* Why the current version is not applied; NULL: it is applied. */
const struct pl_err *config_watch_refused(const struct config_watch *watch,
                                          enum config_name name);

#endif
