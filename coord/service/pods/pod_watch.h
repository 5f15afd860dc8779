/*
 * A pod watch: pods as they are and as they change, in whatever partitions their
 * schedules stand: several lists and watches, put together by name.
 *
 *	POD for each pod --> WHOLE --> POD, GONE for each change --> WHOLE when a list had
 *	to be made anew ...
 *
 * It keeps flags and a name of each pod, some 170 bytes, and no values (states only when
 * labels are asked for). An informer (cache.h) would take 400 bytes besides, for the
 * versions of spec and state: informer_bytes_test measures both. A wait for a million pods
 * would take 570 MB instead of 170.
 */
#ifndef COORD_SERVICE_PODS_POD_WATCH_H
#define COORD_SERVICE_PODS_POD_WATCH_H

#include "coord/service/input/label_query.h"
#include "store/base/map.h"
#include "store/keys/keys.h"
#include "store/kv/kv.h"

struct pod_watch;

enum { POD_WATCH_LISTS_MAX = 64, POD_WATCH_PODS_MAX = 4000000 };

struct pod_watch_pod {
	struct pl_map_node node; /* "namespace/name" */
	struct pl_span namespace, name;
	uint32_t partition;
	bool has_spec, has_state;
	bool gated;    /* by its spec */
	bool selected; /* the spec has the labels that are asked for */
	bool marked;   /* the user's own */
	bool counted;  /* the user's own */
	uint16_t list; /* that shows it */
	uint64_t round;
	uint8_t *state; /* value of the state, kept when labels are asked for */
	size_t state_len;
	uint8_t key[];
};

enum pod_watch_what {
	POD_WATCH_POD,  /* pod; state: its state's value, empty when there is none */
	POD_WATCH_GONE, /* pod: neither spec nor state */
	POD_WATCH_WHOLE,
	POD_WATCH_TROUBLE, /* err; it goes on */
	POD_WATCH_STOPPED, /* err NULL: as asked, else what it can not go on after */
};

struct pod_watch_note {
	enum pod_watch_what what;
	struct pod_watch_pod *pod;
	struct pl_span state;
	const struct pl_err *err;
};

struct pod_watch_opts {
	/* "/schedules/", or parts of it that do not overlap; copied. */
	const struct pl_span *prefix;
	unsigned count;
	/* Which are of interest; NULL: all. */
	bool (*wanted)(void *ctx, struct pl_span key);
	/* NULL: any labels. All pods are noted, and whether they match. */
	const struct label_query *query;
	void (*fn)(void *ctx, const struct pod_watch_note *note);
	void *ctx;
};

/* The prefixes of some partitions in "/schedules/"; all of it, if there are none, or
 * too many for a list each. */
struct pod_watch_parts {
	struct keys_text text[POD_WATCH_LISTS_MAX];
	struct pl_span prefix[POD_WATCH_LISTS_MAX]; /* into text */
	unsigned count;
};

void pod_watch_parts(const bool in_partition[KEYS_PARTITIONS_MAX],
                     struct pod_watch_parts *out);

PL_NODISCARD enum pl_code pod_watch_open(struct kv *kv, const struct pod_watch_opts *opts,
                                         struct pod_watch **out, struct pl_err *err);
/* Calls fn with each known pod, until it returns false. */
void pod_watch_each(const struct pod_watch *watch,
                    bool (*fn)(void *ctx, const struct pod_watch_pod *pod), void *ctx);
/* STOPPED follows; then it is gone. */
void pod_watch_stop(struct pod_watch *watch);

#endif
