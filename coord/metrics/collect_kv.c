#include "coord/metrics/collect.h"

/* Labels have no blanks: "lease grant" is lease_grant. */
struct word {
	char at[48];
};

static struct pl_span word_of(const char *name, struct word *word)
{
	size_t i = 0;

	for (; name[i] != 0 && i + 1 < sizeof word->at; i++)
		word->at[i] = (char)(name[i] == ' ' ? '_' : name[i]);
	return pl_span(word->at, i);
}

static void collect_op(struct metric_set *set, struct pl_span client, enum kv_op number,
                       const struct kv_op_metrics *op)
{
	struct word name, code;
	struct pl_span operation = word_of(kv_op_name(number), &name);
	const struct pl_span *labels = METRIC_VALUES(client, operation);

	if (op->started + op->refused == 0)
		return;
	metric_fold(set, M_KV_SECONDS, labels, &op->took_us, 1e-6);
	for (unsigned i = 0; i < PL_CODE_COUNT; i++)
		if (op->ended[i] > 0)
			metric_add(set, M_KV_REQUESTS,
			           METRIC_VALUES(
					   client, operation,
					   word_of(pl_code_name((enum pl_code)i), &code)),
			           (double)op->ended[i]);
	metric_add(set, M_KV_STARTED, labels, (double)op->started);
	metric_add(set, M_KV_REFUSED, labels, (double)op->refused);
	metric_add(set, M_KV_IN_FLIGHT, labels, (double)op->in_flight);
	metric_add(set, M_KV_SENT, labels, (double)op->bytes_out);
	metric_add(set, M_KV_RECEIVED, labels, (double)op->bytes_in);
}

static void collect_watches(struct metric_set *set, struct pl_span client,
                            const struct kv_watch_metrics *watch)
{
	const struct {
		const char *event;
		uint64_t count;
	} events[] = {{"started", watch->started},
	              {"notes", watch->notes},
	              {"events", watch->events},
	              {"resumed", watch->resumes},
	              {"progress", watch->progress}};
	struct word code;

	metric_add(set, M_KV_WATCHES, METRIC_VALUES(client), (double)watch->open);
	for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
		metric_add(set, M_KV_WATCH_EVENTS,
		           METRIC_VALUES(client, pl_span_str(events[i].event)),
		           (double)events[i].count);
	for (unsigned i = 0; i < PL_CODE_COUNT; i++)
		if (watch->ended[i] > 0)
			metric_add(set, M_KV_WATCH_ENDED,
			           METRIC_VALUES(
					   client,
					   word_of(pl_code_name((enum pl_code)i), &code)),
			           (double)watch->ended[i]);
	metric_add(set, M_KV_WATCH_BYTES, METRIC_VALUES(client), (double)watch->bytes_in);
}

void collect_kv(struct metric_set *set, struct pl_span client,
                const struct kv_metrics *metrics)
{
	for (unsigned i = 0; i < KV_OP_COUNT; i++)
		collect_op(set, client, (enum kv_op)i, &metrics->op[i]);
	metric_add(set, M_KV_COMPARES, METRIC_VALUES(client),
	           (double)metrics->compares_failed);
	collect_watches(set, client, &metrics->watch);
}

void collect_etcd(struct metric_set *set, struct pl_span client,
                  const struct etcd_stats *stats)
{
	const struct {
		const char *event;
		uint64_t count;
	} events[] = {
		{"retry", stats->retries},      {"reconnect", stats->reconnects},
		{"failover", stats->failovers}, {"timeout", stats->timeouts},
		{"unknown", stats->unknown},    {"watch_resume", stats->watch_resumes},
		{"token", stats->tokens}};

	for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
		metric_add(set, M_CLIENT_EVENTS,
		           METRIC_VALUES(client, pl_span_str(events[i].event)),
		           (double)events[i].count);
}
