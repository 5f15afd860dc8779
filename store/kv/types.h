/*
 * Requests to the store and their answers, as plain values without behaviour.
 *
 * A request borrows all its spans and arrays for the duration of the call that takes it.
 * A result, and everything it points to, is borrowed by the callback that gets it. All
 * fields have etcd's meaning (API v3).
 */
#ifndef STORE_KV_TYPES_H
#define STORE_KV_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum kv_keys_kind {
	KV_ONE,    /* exactly the key from */
	KV_RANGE,  /* from <= key < to */
	KV_PREFIX, /* every key that starts with from; an empty prefix is every key */
	KV_FROM,   /* from <= key */
};

struct kv_keys {
	enum kv_keys_kind kind;
	struct pl_span from;
	struct pl_span to; /* in KV_RANGE */
};

struct kv_record {
	struct pl_span key;
	struct pl_span value; /* empty if only keys were asked for */
	int64_t create_revision;
	int64_t mod_revision;
	int64_t version;
	int64_t lease; /* 0: none */
};

/* Where and when an answer was true. */
struct kv_header {
	uint64_t cluster_id;
	uint64_t member_id;
	uint64_t raft_term;
	int64_t revision;
};

enum kv_op {
	KV_GET, /* range */
	KV_PUT,
	KV_DELETE,
	KV_TXN,
	KV_COMPACT,
	KV_LEASE_GRANT,
	KV_LEASE_REVOKE,
	KV_LEASE_KEEP, /* one keep-alive */
	KV_LEASE_TTL,
	KV_STATUS,
	KV_OP_COUNT,
};

struct kv_get {
	struct kv_keys keys;
	int64_t limit;    /* 0: all */
	int64_t revision; /* 0: now */
	bool keys_only;
	bool count_only;
	bool serializable; /* one member answers alone, so the answer may be stale */
};

struct kv_put {
	struct pl_span key;
	struct pl_span value;
	int64_t lease; /* 0: none */
	bool want_prev;
	bool keep_value; /* only the lease changes; the key must exist */
	bool keep_lease; /* only the value changes; the key must exist */
};

struct kv_delete {
	struct kv_keys keys;
	bool want_prev;
};

enum kv_target { KV_VERSION, KV_CREATE_REV, KV_MOD_REV, KV_VALUE, KV_LEASE };
enum kv_relation { KV_EQ, KV_NE, KV_LT, KV_GT };

/* Over a range the compare must hold for each key in it. If there is no key, in a range
 * or by name, all numbers count as 0, and KV_VALUE never holds, whatever the relation is.
 * All compares, those of nested transactions included, are judged before anything is
 * written. */
struct kv_compare {
	struct kv_keys keys;
	enum kv_target target;
	enum kv_relation relation;
	int64_t number;       /* for all targets but KV_VALUE */
	struct pl_span value; /* for KV_VALUE */
};

struct kv_req;

/* The list then runs if every compare holds, else the list otherwise. Operations may be
 * KV_GET, KV_PUT, KV_DELETE and KV_TXN. No key may be put twice. */
struct kv_txn {
	const struct kv_compare *compares;
	size_t compare_count;
	const struct kv_req *then;
	size_t then_count;
	const struct kv_req *otherwise;
	size_t otherwise_count;
};

struct kv_compact {
	int64_t revision;
	bool physical; /* answer only when the space has been freed */
};

struct kv_lease_req {
	int64_t id;     /* in a grant 0 lets the store choose */
	int64_t ttl_s;  /* in a grant */
	bool want_keys; /* for KV_LEASE_TTL */
};

struct kv_req {
	enum kv_op op;
	union {
		struct kv_get get;
		struct kv_put put;
		struct kv_delete del;
		struct kv_txn txn;
		struct kv_compact compact;
		struct kv_lease_req lease; /* for grant, revoke, keep and ttl */
	};
};

struct kv_get_result {
	const struct kv_record *records;
	size_t count;
	int64_t total; /* keys in the range, whatever the limit */
	bool more;     /* the limit cut keys off */
};

struct kv_put_result {
	const struct kv_record *prev; /* NULL: not asked for, or the key did not exist */
};

struct kv_delete_result {
	int64_t deleted;
	const struct kv_record *prev;
	size_t prev_count;
};

struct kv_result;

struct kv_txn_result {
	bool succeeded;
	const struct kv_result *results; /* one for each operation that ran */
	size_t count;
};

struct kv_lease_result {
	int64_t id;
	/* remaining; in keep and ttl a lease that is gone is an error */
	int64_t ttl_s;
	int64_t granted_s; /* in KV_LEASE_TTL */
	const struct pl_span *keys;
	size_t key_count;
};

struct kv_status_result {
	const char *version; /* for example "3.4.23" */
	int64_t db_bytes;
	int64_t db_bytes_in_use;
	uint64_t leader; /* member id; 0: there is none */
	uint64_t raft_index;
	bool alarm_nospace; /* raised by some member */
	bool alarm_corrupt;
};

struct kv_result {
	enum kv_op op;
	struct kv_header header; /* of the whole call; not set in nested results */
	/* When the answered request was sent, on the clock of kv_now_ms(). The safe time
	 * of a lease counts from it. */
	uint64_t sent_ms;
	union {
		struct kv_get_result get;
		struct kv_put_result put;
		struct kv_delete_result del;
		struct kv_txn_result txn;
		struct kv_lease_result lease;
		struct kv_status_result status;
	};
};

/* Limits of the server. 0: not known yet. */
struct kv_limits {
	uint32_t txn_ops;       /* operations in each list of a transaction */
	uint32_t request_bytes; /* bytes of an encoded write */
	/* In a guarded kv, the number of partitions that one transaction may write to
	 * within the limits above. Each further partition takes two of txn_ops. 0: the kv
	 * is not guarded. */
	uint32_t fences;
	/* kv_progress is answered at once. Otherwise a watch on keys without changes may
	 * show nothing for minutes (ADR 7). May change at any time. */
	bool progress;
};

struct kv_watch_req {
	struct kv_keys keys;
	int64_t from_revision; /* 0: from now */
	bool want_prev;
	bool no_puts;
	bool no_deletes;
};

struct kv_event {
	bool is_delete; /* the record has key and mod_revision only */
	struct kv_record record;
	const struct kv_record *prev; /* NULL: not asked for, or the key did not exist */
};

enum kv_watch_what {
	/* The watch stands: from now on every change after revision is delivered. READY
	 * comes again after each reconnection. */
	KV_WATCH_READY,
	/* All events of a revision on watched keys come in one note, in order, each
	 * revision once. */
	KV_WATCH_EVENTS,
	/* Everything up to revision has been delivered. */
	KV_WATCH_PROGRESS,
	/* The last note. err says why: PL_CANCELED, PL_COMPACTED (compact_revision is
	 * set, and the user must list again), PL_REWOUND (the store is another one, and
	 * the user must list again), PL_DENIED, PL_AUTH, PL_INVALID. A lost connection
	 * does not end a watch. */
	KV_WATCH_END,
};

struct kv_watch_note {
	enum kv_watch_what what;
	struct kv_header header;
	int64_t revision;
	const struct kv_event *events;
	size_t count;
	int64_t compact_revision;
	const struct pl_err *err;
};

const char *kv_op_name(enum kv_op op);

#endif
