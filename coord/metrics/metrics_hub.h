/*
 * The hub: where the threads of a process hand over their metrics.
 *
 *	exporter --ask--> hub --wake--> source (a thread's) --answer--> hub --ready--> exporter
 *
 * A source fills a set on its own thread when it is woken, so nothing that it counts is
 * shared. An exporter waits for all sources, for METRICS_PATIENCE_MS at most: a thread that
 * is stuck is left out, and said to be missing.
 *
 * Invariants: the hub's lock protects its lists, numbers and answers, and nothing else; no
 * set is filled or written under it. A source answers the newest number that was asked, so
 * questions of several exporters at one time are answered by one set.
 */
#ifndef COORD_METRICS_METRICS_HUB_H
#define COORD_METRICS_METRICS_HUB_H

#include <uv.h>

#include "coord/metrics/metrics_table.h"
#include "store/base/list.h"

enum { METRICS_PATIENCE_MS = 2000, METRICS_SOURCES_MAX = 512 };

struct metrics_answer;

struct metrics_hub {
	uv_mutex_t lock;
	struct pl_list sources, exporters;
	uint64_t asked; /* number of the last question */
};

/* Embedded in what belongs to a thread. */
struct metrics_source {
	struct pl_list link;
	struct metrics_hub *hub; /* NULL: it has not joined, or has left */
	void (*wake)(void *ctx); /* from any thread, under the hub's lock */
	void *ctx;
	struct metrics_answer *answer; /* the last one; NULL: none */
	uint64_t answered;             /* number of the question that it answers */
};

/* An exporter, as the hub sees it. */
struct metrics_listener {
	struct pl_list link;
	void (*ready)(void *ctx); /* a source has answered or left; as wake */
	void *ctx;
};

PL_NODISCARD enum pl_code metrics_hub_init(struct metrics_hub *hub, struct pl_err *err);
void metrics_hub_done(struct metrics_hub *hub); /* sources and exporters have left */

/* wake and ctx are set. From any thread. */
void metrics_source_join(struct metrics_hub *hub, struct metrics_source *source);
/* The source's thread ends; its metrics go with it. Allowed when it has not joined. */
void metrics_source_leave(struct metrics_source *source);
/* On the source's thread, after wake: whether a set is wanted, and for which question. */
bool metrics_source_is_asked(struct metrics_source *source, uint64_t *question);
/* Takes the set; NULL: there was no memory for one. */
void metrics_source_answer(struct metrics_source *source, uint64_t question,
                           struct metric_set *set);

void metrics_hub_listen(struct metrics_hub *hub, struct metrics_listener *listener);
void metrics_hub_unlisten(struct metrics_hub *hub, struct metrics_listener *listener);
/* Asks all sources. Gives the number of the question. */
uint64_t metrics_hub_ask(struct metrics_hub *hub);
/* Whether all sources have answered the question. */
bool metrics_hub_is_answered(struct metrics_hub *hub, uint64_t question);
struct metrics_hub_count {
	unsigned answered, missing;
};
/* Adds the answers to the set; older answers than the question are left out. */
struct metrics_hub_count metrics_hub_merge(struct metrics_hub *hub, uint64_t question,
                                           struct metric_set *into);

#endif
