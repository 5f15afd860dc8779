/*
 * Pods as they are and as they change, wherever their schedules stand: several lists and
 * watches, put together by name.
 *
 * Notes: POD for each that is there, then WHOLE once all of it was told; then POD for
 * each change, GONE, and WHOLE again whenever a list had to be made anew.
 */
#ifndef COORD_CLI_PODWATCH_H
#define COORD_CLI_PODWATCH_H

#include "coord/cli/input/label_query.h"
#include "store/base/map.h"
#include "store/keys/keys.h"
#include "store/kv/kv.h"

struct podwatch;

enum { PODWATCH_LISTS_MAX = 64, PODWATCH_PODS_MAX = 4000000 };

struct podwatch_pod {
	struct pl_map_node node; /* "namespace/name" */
	struct pl_span space, name;
	uint32_t partition;
	bool has_spec, has_state;
	bool gated;    /* by its spec */
	bool selected; /* its spec has the labels that are asked for */
	bool marked;   /* the user's own */
	bool counted;  /* the user's own */
	uint16_t list; /* that shows it */
	uint64_t round;
	uint8_t *state; /* its value, kept when labels are asked for */
	size_t state_len;
	uint8_t key[];
};

enum podwatch_what {
	PODWATCH_POD,  /* pod; state: its state's value, empty when there is none */
	PODWATCH_GONE, /* pod: neither spec nor state */
	PODWATCH_WHOLE,
	PODWATCH_TROUBLE, /* err; it goes on */
	PODWATCH_STOPPED, /* err NULL: as asked, else what it can not go on after */
};

struct podwatch_note {
	enum podwatch_what what;
	struct podwatch_pod *pod;
	struct pl_span state;
	const struct pl_err *err;
};

struct podwatch_opts {
	/* "/schedules/", or parts of it that do not overlap; copied. */
	const struct pl_span *prefix;
	unsigned count;
	/* Which are of interest; NULL: all. */
	bool (*wanted)(void *ctx, struct pl_span key);
	/* NULL: nobody asks for labels. All are told, and whether they have them. */
	const struct label_query *query;
	void (*fn)(void *ctx, const struct podwatch_note *note);
	void *ctx;
};

/* Of some partitions what is in "/schedules/"; all of it, if they are none, or too many
 * for a list each. */
struct podwatch_parts {
	struct keys_text text[PODWATCH_LISTS_MAX];
	struct pl_span prefix[PODWATCH_LISTS_MAX]; /* into text */
	unsigned count;
};

void podwatch_parts(const bool in_partition[KEYS_PARTITIONS_MAX],
                    struct podwatch_parts *out);

PL_NODISCARD enum pl_code podwatch_open(struct kv *kv, const struct podwatch_opts *opts,
                                        struct podwatch **out, struct pl_err *err);
/* Those that it knows, until fn says false. */
void podwatch_each(const struct podwatch *watch,
                   bool (*fn)(void *ctx, const struct podwatch_pod *pod), void *ctx);
/* STOPPED follows; then it is gone. */
void podwatch_stop(struct podwatch *watch);

#endif
