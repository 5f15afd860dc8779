/*
 * The history of a run: every call with its outcome, every watcher's stream, every
 * lease, and the state at the end. Plain data, for the checker to judge.
 *
 * Ticks order starts, ends and notes strictly, which milliseconds do not: one thread
 * records the whole history. An operation's id is written into every value it
 * puts, so each event names its writer.
 *
 * Size: a minute is some 60,000 operations and as many events for each of about
 * eight watchers, 100 bytes each: 50 MB.
 */
#ifndef TESTS_FAULTLAB_HIST_H
#define TESTS_FAULTLAB_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"
#include "tests/faultlab/name.h"

enum {
	HIST_PARTS_MAX = 3,
	HIST_STREAMS_MAX = 64,
	HIST_NAME_SIZE = 32,
	HIST_TEXT_SIZE = 120,
	HIST_COMPLAINTS_MAX = 16,
};

enum hist_act { HIST_LOOK, HIST_PUT, HIST_DROP };
enum { HIST_ANY = -1 };

/* The effect of an operation on one key; all parts are in one transaction. */
struct hist_part {
	hist_key key;
	enum hist_act act;
	int64_t expect;          /* compared mod_revision; HIST_ANY: none */
	struct hist_value value; /* HIST_PUT */
	bool seen;               /* the answer showed the key, with the next two */
	int64_t seen_mod;        /* 0: absent */
	struct hist_value seen_value;
};

enum hist_outcome {
	HIST_OPEN,    /* no answer was ever given: a fault by itself */
	HIST_OK,      /* done, at revision */
	HIST_REFUSED, /* a compare did not hold, at revision */
	HIST_FAILED,  /* certainly not applied */
	HIST_UNKNOWN, /* may have been applied, or may be later */
};

struct hist_op {
	uint32_t id; /* from 1 */
	uint16_t client;
	uint8_t part_count;
	bool serializable;
	enum hist_outcome outcome;
	enum pl_code code;
	uint64_t start_tick, end_tick;
	uint64_t start_ms, end_ms;
	int64_t revision;
	int64_t lease; /* lease of the keys that the operation puts */
	struct hist_part part[HIST_PARTS_MAX];
};

struct hist_event {
	int64_t revision;
	hist_key key;
	bool is_delete;
	int64_t create_revision, version, lease;
	struct hist_value value;
};

enum hist_note_what {
	HIST_START,    /* a watch from revision on was requested; 0: from now */
	HIST_READY,    /* changes after revision will be seen */
	HIST_EVENTS,   /* events[first .. first + count) */
	HIST_PROGRESS, /* every event up to revision has been seen */
	HIST_RELIST,   /* the events are the records as they stood at revision */
	HIST_END,      /* code says why */
};

struct hist_note {
	enum hist_note_what what;
	enum pl_code code;
	int64_t revision;
	int64_t compact_revision; /* HIST_END with PL_COMPACTED */
	size_t first, count;
	uint64_t tick, ms;
};

/* The notes and events of one watcher. */
struct hist_stream {
	char name[HIST_NAME_SIZE];
	enum hist_class class; /* only keys of this class */
	bool whole;            /* must see every event up to the end */
	bool relists;          /* may list again at any time */
	struct hist_note *note;
	size_t note_count, note_cap;
	struct hist_event *event;
	size_t event_count, event_cap;
};

struct hist_lease {
	int64_t id;
	uint64_t ttl_ms;
	uint64_t safe_until_ms; /* until then the client was sure of the lease */
	uint64_t dropped_ms;    /* when keep-alives stopped; 0: they did not */
	bool revoked;           /* a revocation was requested, answered or not */
};

/* An action of the nemesis, for people who read a failure. */
struct hist_mark {
	uint64_t ms;
	char text[HIST_TEXT_SIZE];
};

/* A member stood still (SIGSTOP). */
struct hist_pause {
	uint64_t from_ms, to_ms; /* to 0: the pause has not ended */
};

/* A complaint of the laboratory itself while it ran. */
struct hist_complaint {
	uint64_t ms;
	char text[HIST_TEXT_SIZE];
};

struct hist {
	uint64_t tick;
	int64_t base_revision; /* revision at the start, when the store was empty */
	struct hist_op *op;
	size_t op_count, op_cap;
	struct hist_stream stream[HIST_STREAMS_MAX]; /* 0: the full history */
	unsigned stream_count;
	struct hist_lease *lease;
	size_t lease_count, lease_cap;
	int64_t *compacted; /* revisions for which a compaction was asked */
	size_t compacted_count, compacted_cap;
	struct hist_mark *mark;
	size_t mark_count, mark_cap;
	struct hist_pause *pause;
	size_t pause_count, pause_cap;
	/* True when the server revokes leases that were kept alive after a paused
	 * leader comes back: a fault of the server that no client can repair. */
	bool pauses_revoke;
	struct hist_complaint complaint[HIST_COMPLAINTS_MAX];
	unsigned complaint_count;
	/* The whole content of the store after the faults. */
	int64_t final_revision;
	uint64_t final_ms;
	struct hist_event *final;
	size_t final_count, final_cap;
};

void hist_init(struct hist *hist);
void hist_done(struct hist *hist);

/* The op is filled in by the caller; ids are stable, pointers are not. */
uint32_t hist_op_start(struct hist *hist, uint16_t client, uint64_t now_ms);
struct hist_op *hist_op(struct hist *hist, uint32_t id);
void hist_op_end(struct hist *hist, uint32_t id, enum hist_outcome outcome,
                 enum pl_code code, int64_t revision, uint64_t now_ms);

/* Adds a stream; returns its number. */
unsigned hist_stream_add(struct hist *hist, const char *name, enum hist_class class,
                         bool whole);
/* Events go to the note that was added last. */
struct hist_note *hist_note_add(struct hist *hist, unsigned stream,
                                enum hist_note_what what, int64_t revision,
                                uint64_t now_ms);
void hist_event_add(struct hist *hist, unsigned stream, const struct hist_event *event);

size_t hist_lease_add(struct hist *hist, int64_t id, uint64_t ttl_ms);
void hist_compacted(struct hist *hist, int64_t revision);
void hist_final_add(struct hist *hist, const struct hist_event *record);
/* The end of a pause closes all that are open. */
void hist_pause(struct hist *hist, uint64_t now_ms, bool begins);
PL_PRINTF(3, 4) void hist_mark(struct hist *hist, uint64_t now_ms, const char *fmt, ...);

/* Adds a complaint, such as a client that did not come back to work. */
PL_PRINTF(3, 4)
void hist_complain(struct hist *hist, uint64_t now_ms, const char *fmt, ...);

#endif
