/*
 * etcd's HTTP endpoints: /health, /version and /metrics of one member.
 *
 * endpoint is a member's client URL ("http://10.0.0.1:2379"). Invariant: as in
 * store/net/http.h, done fires exactly once, never inside start. An answer that is not
 * etcd's is PL_PROTO.
 */
#ifndef STORE_ETCD_ADMIN_H
#define STORE_ETCD_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/net/http.h"

enum { ETCD_BUCKETS_MAX = 40, ETCD_TEXT_SIZE = 64 };

struct etcd_health {
	bool healthy; /* the member serves requests: there is a leader and no alarm */
	char reason[ETCD_TEXT_SIZE]; /* etcd 3.5's reason; "" with 3.4 or when healthy */
};

struct etcd_version {
	char server[ETCD_TEXT_SIZE]; /* "3.4.23" */
	/* the version that all members support; "not_decided" at first */
	char cluster[ETCD_TEXT_SIZE];
};

/* Counters since the member's start; etcd_histogram_since() gives the difference of two
 * readings. */
struct etcd_histogram {
	uint64_t count;
	double sum;
	size_t bucket_count;
	struct {
		double upto;
		uint64_t count; /* observations up to this bound (cumulative) */
	} buckets[ETCD_BUCKETS_MAX];
};

/* A value that the member does not report is 0 (revisions: -1). */
struct etcd_metrics {
	double cpu_s; /* user and system time */
	uint64_t resident_bytes;
	uint64_t db_bytes;
	uint64_t db_bytes_in_use;
	bool has_leader;
	int64_t current_revision;
	int64_t compact_revision;
	uint64_t keys;
	struct etcd_histogram wal_fsync_s;
	struct etcd_histogram backend_commit_s;
};

/* The second argument is NULL exactly when err is not; both are borrowed. */
typedef void etcd_health_fn(void *ctx, const struct etcd_health *health,
                            const struct pl_err *err);
typedef void etcd_version_fn(void *ctx, const struct etcd_version *version,
                             const struct pl_err *err);
typedef void etcd_metrics_fn(void *ctx, const struct etcd_metrics *metrics,
                             const struct pl_err *err);

PL_NODISCARD enum pl_code etcd_health_start(struct http *http, const char *endpoint,
                                            uint32_t timeout_ms, etcd_health_fn *done,
                                            void *ctx, struct pl_err *err);
PL_NODISCARD enum pl_code etcd_version_start(struct http *http, const char *endpoint,
                                             uint32_t timeout_ms, etcd_version_fn *done,
                                             void *ctx, struct pl_err *err);
PL_NODISCARD enum pl_code etcd_metrics_start(struct http *http, const char *endpoint,
                                             uint32_t timeout_ms, etcd_metrics_fn *done,
                                             void *ctx, struct pl_err *err);

/* The parsers of the three answers' bodies. */
PL_NODISCARD enum pl_code etcd_health_parse(struct pl_span body, struct etcd_health *out,
                                            struct pl_err *err);
PL_NODISCARD enum pl_code etcd_version_parse(struct pl_span body,
                                             struct etcd_version *out,
                                             struct pl_err *err);
PL_NODISCARD enum pl_code etcd_metrics_parse(struct pl_span body,
                                             struct etcd_metrics *out,
                                             struct pl_err *err);

/* The value below which that share (0 to 1) of the observations is, estimated within its
 * bucket as Prometheus does; 0 when there are no observations. */
double etcd_histogram_quantile(const struct etcd_histogram *histogram, double share);

/* The observations between two readings of the same member; all of now when the member
 * was restarted in between. */
struct etcd_histogram etcd_histogram_since(const struct etcd_histogram *now,
                                           const struct etcd_histogram *before);

#endif
