/* Reads the few values that are needed out of the thousand of etcd's /metrics. */
#include <math.h>

#include "store/etcd/admin.h"
#include "store/net/prom.h"

enum number_kind { COUNT, REVISION, SECONDS, BOOLEAN };

/* Each plain metric and the field that gets its value. */
static const struct {
	const char *name;
	enum number_kind kind;
	size_t at;
} numbers[] = {
	{"process_cpu_seconds_total", SECONDS, offsetof(struct etcd_metrics, cpu_s)},
	{"process_resident_memory_bytes", COUNT,
         offsetof(struct etcd_metrics, resident_bytes)},
	{"etcd_mvcc_db_total_size_in_bytes", COUNT,
         offsetof(struct etcd_metrics, db_bytes)},
	{"etcd_mvcc_db_total_size_in_use_in_bytes", COUNT,
         offsetof(struct etcd_metrics, db_bytes_in_use)},
	{"etcd_server_has_leader", BOOLEAN, offsetof(struct etcd_metrics, has_leader)},
	{"etcd_debugging_mvcc_keys_total", COUNT, offsetof(struct etcd_metrics, keys)},
	{"etcd_debugging_mvcc_current_revision", REVISION,
         offsetof(struct etcd_metrics, current_revision)},
	{"etcd_debugging_mvcc_compact_revision", REVISION,
         offsetof(struct etcd_metrics, compact_revision)},
};

static const struct {
	const char *name;
	size_t at;
} histograms[] = {
	{"etcd_disk_wal_fsync_duration_seconds",
         offsetof(struct etcd_metrics, wal_fsync_s)},
	{"etcd_disk_backend_commit_duration_seconds",
         offsetof(struct etcd_metrics, backend_commit_s)},
};

/* The value comes from outside: anything that is no count is 0. */
static uint64_t as_count(double value)
{
	return value >= 0 && value < 18446744073709549568.0 ? (uint64_t)value : 0;
}

static int64_t as_revision(double value)
{
	return value >= -1 && value < 9223372036854774784.0 ? (int64_t)value : -1;
}

static void set_number(const struct prom_sample *sample, struct etcd_metrics *out)
{
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		void *to = (char *)out + numbers[i].at;

		if (!pl_span_eq(sample->name, pl_span_str(numbers[i].name)))
			continue;
		switch (numbers[i].kind) {
		case COUNT:
			*(uint64_t *)to = as_count(sample->value);
			break;
		case REVISION:
			*(int64_t *)to = as_revision(sample->value);
			break;
		case SECONDS:
			*(double *)to = isfinite(sample->value) ? sample->value : 0;
			break;
		case BOOLEAN:
			*(bool *)to = sample->value == 1;
			break;
		}
		return;
	}
}

static enum pl_code add_bucket(const struct prom_sample *sample,
                               struct etcd_histogram *out, struct pl_err *err)
{
	size_t count = out->bucket_count;
	struct pl_span bound;
	double upto = 0;

	if (!prom_label(sample, "le", &bound) || prom_number(bound, &upto) != PL_OK ||
	    isnan(upto))
		return pl_err_set(err, PL_INVALID, "a bucket without a bound");
	if (count == ETCD_BUCKETS_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d buckets",
		                  ETCD_BUCKETS_MAX);
	out->buckets[count].upto = upto;
	out->buckets[count].count = as_count(sample->value);
	if (count > 0 && (out->buckets[count - 1].upto >= upto ||
	                  out->buckets[count - 1].count > out->buckets[count].count))
		return pl_err_set(err, PL_INVALID, "buckets out of order");
	out->bucket_count++;
	return PL_OK;
}

static enum pl_code add_histogram_sample(const struct prom_sample *sample,
                                         struct etcd_metrics *out, struct pl_err *err)
{
	for (size_t i = 0; i < sizeof histograms / sizeof histograms[0]; i++) {
		struct pl_span base = pl_span_str(histograms[i].name), part;
		struct etcd_histogram *to = (void *)((char *)out + histograms[i].at);

		if (!pl_span_starts(sample->name, base))
			continue;
		part = pl_span(sample->name.at + base.len, sample->name.len - base.len);
		if (pl_span_eq(part, PL_SPAN_LIT("_bucket")))
			return add_bucket(sample, to, err);
		if (pl_span_eq(part, PL_SPAN_LIT("_sum")))
			to->sum = isfinite(sample->value) ? sample->value : 0;
		if (pl_span_eq(part, PL_SPAN_LIT("_count")))
			to->count = as_count(sample->value);
	}
	return PL_OK;
}

enum pl_code etcd_metrics_parse(struct pl_span body, struct etcd_metrics *out,
                                struct pl_err *err)
{
	struct etcd_metrics metrics = {.current_revision = -1, .compact_revision = -1};
	struct prom_reader reader;
	struct prom_sample sample;
	struct pl_err why = {0};
	bool etcd = false;
	enum pl_code code;

	prom_init(&reader, body);
	while ((code = prom_next(&reader, &sample, &why)) == PL_OK) {
		etcd = etcd ||
		       pl_span_eq(sample.name, PL_SPAN_LIT("etcd_server_has_leader"));
		set_number(&sample, &metrics);
		code = add_histogram_sample(&sample, &metrics, &why);
		if (code != PL_OK)
			break;
	}
	if (code == PL_NOTFOUND && etcd) {
		*out = metrics;
		return PL_OK;
	}
	return pl_err_set(err, PL_PROTO, "not etcd's metrics%s%s",
	                  why.code == PL_OK ? "" : ": ", why.msg);
}

double etcd_histogram_quantile(const struct etcd_histogram *histogram, double share)
{
	double from = 0, below = 0, rank = share * (double)histogram->count;

	PL_ASSERT(share >= 0 && share <= 1);
	for (size_t i = 0; i < histogram->bucket_count; i++) {
		double upto = histogram->buckets[i].upto;
		double count = (double)histogram->buckets[i].count;

		if (count >= rank && count > below) {
			if (isinf(upto))
				return from; /* the last bucket has no upper bound */
			return from + (upto - from) * (rank - below) / (count - below);
		}
		from = isinf(upto) ? from : upto;
		below = count;
	}
	return from;
}

struct etcd_histogram etcd_histogram_since(const struct etcd_histogram *now,
                                           const struct etcd_histogram *before)
{
	struct etcd_histogram between = *now;

	if (now->count < before->count || now->bucket_count != before->bucket_count)
		return between;
	between.count -= before->count;
	between.sum -= before->sum;
	for (size_t i = 0; i < now->bucket_count; i++) {
		if (now->buckets[i].count < before->buckets[i].count)
			return *now;
		between.buckets[i].count -= before->buckets[i].count;
	}
	return between;
}
