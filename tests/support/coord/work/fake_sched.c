#include "tests/support/coord/work/fake_sched.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "tests/harness/t.h"

enum { INFLIGHT = 4, RETRY_MS = 50, PARTS_MAX = 64, VALUE_MAX = 2 << 20 };

struct fake_switches fake;

enum pod_is { POD_WAITS, POD_READY, POD_SENT, POD_DONE };

struct fake_pod {
	uint32_t partition;
	enum pod_is is;
	int64_t state_rev;
	uint64_t retry_ms;
	char spec[FAKE_KEY_SIZE], state[FAKE_KEY_SIZE];
	struct kv_compare compare[2];
	struct kv_req put;
};

struct fake_part {
	bool owned, quiescing;
	bool listed[SCHED_PARTS];
};

struct sched {
	struct fake_part part[PARTS_MAX];
	struct fake_pod pod[FAKE_PODS_MAX];
	unsigned pods, sent;
	uint64_t now_ms;
	struct pl_err malformed;
};

static char filler[VALUE_MAX];

static enum pl_code fails_once(struct pl_err *err)
{
	if (fake.news_fail == 0)
		return PL_OK;
	fake.news_fail--;
	return pl_err_set(err, PL_NOMEM, "as it was told");
}

void sched_measure_at(struct sched *sched, uint64_t now_ms)
{
	(void)sched;
	(void)now_ms;
}

enum pl_code sched_new(const struct sched_opts *opts, struct sched **out,
                       struct pl_err *err)
{
	struct sched *sched;

	T_TRUE(opts->partitions != 0 && opts->partitions <= PARTS_MAX);
	if (fails_once(err) != PL_OK)
		return PL_NOMEM;
	fake.times_plugins = opts->clock != NULL;
	memset(filler, 'x', sizeof filler);
	sched = pl_calloc(1, sizeof *sched);
	T_TRUE(sched != NULL);
	*out = sched;
	return PL_OK;
}

void sched_free(struct sched *sched)
{
	free(sched);
}

enum pl_code sched_own(struct sched *sched, uint32_t partition, int64_t epoch,
                       struct pl_err *err)
{
	T_TRUE(!sched->part[partition].owned && epoch > 0);
	if (fails_once(err) != PL_OK)
		return PL_NOMEM;
	sched->part[partition].owned = true;
	return PL_OK;
}

static void forget_pods(struct sched *sched, uint32_t partition)
{
	for (unsigned i = 0; i < sched->pods; i++)
		if (sched->pod[i].partition == partition && sched->pod[i].is != POD_SENT)
			sched->pod[i] = (struct fake_pod){.partition = UINT32_MAX,
			                                  .is = POD_DONE};
}

void sched_lost(struct sched *sched, uint32_t partition)
{
	T_TRUE(sched->part[partition].owned);
	sched->part[partition] = (struct fake_part){0};
	forget_pods(sched, partition);
}

void sched_quiesce(struct sched *sched, uint32_t partition)
{
	T_TRUE(sched->part[partition].owned);
	sched->part[partition].quiescing = true;
	fake.quiesced++;
}

bool sched_is_quiet(const struct sched *sched, uint32_t partition)
{
	for (unsigned i = 0; i < sched->pods; i++)
		if (sched->pod[i].partition == partition &&
		    (sched->pod[i].is == POD_SENT || sched->pod[i].is == POD_READY))
			return false;
	return !fake.never_quiet;
}

bool sched_is_open(const struct sched *sched, uint32_t partition)
{
	const struct fake_part *part = &sched->part[partition];

	return part->listed[0] && part->listed[1] && part->listed[2];
}

void sched_list_begin(struct sched *sched, uint32_t partition, enum sched_part part)
{
	T_TRUE(sched->part[partition].owned);
	sched->part[partition].listed[part] = false;
	fake.begun += partition == 0 && part == SCHED_SCHEDULES;
}

static struct fake_pod *pod_of(struct sched *sched, uint32_t partition, const char *spec)
{
	struct fake_pod *room = NULL;

	for (unsigned i = 0; i < sched->pods; i++) {
		struct fake_pod *pod = &sched->pod[i];

		if (pod->partition == partition && strcmp(pod->spec, spec) == 0)
			return pod;
		if (pod->partition == UINT32_MAX)
			room = pod;
	}
	T_TRUE(room != NULL || sched->pods < FAKE_PODS_MAX);
	if (room == NULL)
		room = &sched->pod[sched->pods++];
	*room = (struct fake_pod){.partition = partition};
	(void)snprintf(room->spec, sizeof room->spec, "%s", spec);
	(void)snprintf(room->state, sizeof room->state, "%.*sstate",
	               (int)(strlen(spec) - 4), spec);
	return room;
}

static void learn_record(struct sched *sched, uint32_t partition,
                         const struct kv_record *record)
{
	char spec[FAKE_KEY_SIZE];
	struct fake_pod *pod;
	struct keys_id id;

	T_EQ(keys_parse(record->key, &id, NULL), PL_OK);
	T_EQ(id.partition, partition);
	(void)snprintf(spec, sizeof spec, "%.*sspec",
	               (int)record->key.len - (id.kind == KEYS_SPEC ? 4 : 5),
	               (const char *)record->key.at);
	pod = pod_of(sched, partition, spec);
	if (id.kind == KEYS_STATE && pod->is == POD_WAITS)
		pod->is = POD_DONE; /* the answer is still to come */
}

void sched_list_records(struct sched *sched, uint32_t partition, enum sched_part part,
                        const struct kv_record *records, size_t count)
{
	T_TRUE(sched->part[partition].owned && !sched->part[partition].listed[part]);
	for (size_t i = 0; part == SCHED_SCHEDULES && i < count; i++)
		learn_record(sched, partition, &records[i]);
}

void sched_list_end(struct sched *sched, uint32_t partition, enum sched_part part,
                    int64_t revision)
{
	T_TRUE(revision > 0);
	T_TRUE(sched->part[partition].owned && !sched->part[partition].listed[part]);
	sched->part[partition].listed[part] = true;
}

void sched_events(struct sched *sched, uint32_t partition, enum sched_part part,
                  const struct kv_event *events, size_t count)
{
	T_TRUE(sched->part[partition].listed[part]);
	for (size_t i = 0; part == SCHED_SCHEDULES && i < count; i++)
		if (!events[i].is_delete)
			learn_record(sched, partition, &events[i].record);
}

void sched_progress(struct sched *sched, uint32_t partition, enum sched_part part,
                    int64_t revision)
{
	T_TRUE(sched->part[partition].listed[part]);
	if (partition == 0 && part == SCHED_SCHEDULES)
		fake.progress = revision;
}

void sched_rewound(struct sched *sched)
{
	fake.rewound++;
	for (uint32_t p = 0; p < PARTS_MAX; p++) {
		forget_pods(sched, p);
		memset(sched->part[p].listed, 0, sizeof sched->part[p].listed);
	}
}

bool sched_view_wanted(const struct sched *sched, enum sched_view view)
{
	(void)sched;
	return view == SCHED_FLEET && fake.view;
}

void sched_set_shards(struct sched *sched, uint32_t shards)
{
	(void)sched;
	(void)shards;
}

void sched_view_begin(struct sched *sched, enum sched_view view)
{
	(void)sched;
	T_EQ(view, SCHED_FLEET);
	fake.view_begun++;
}

void sched_view_records(struct sched *sched, enum sched_view view,
                        const struct kv_record *records, size_t count)
{
	(void)sched;
	T_EQ(view, SCHED_FLEET);
	for (size_t i = 0; i < count; i++)
		T_TRUE(pl_span_cmp(records[i].key, PL_SPAN_LIT("/alloc/")) >= 0 &&
		       pl_span_cmp(records[i].key, PL_SPAN_LIT("/nodes0")) < 0);
	fake.view_records += (unsigned)count;
}

void sched_view_end(struct sched *sched, enum sched_view view, int64_t revision)
{
	(void)sched;
	T_TRUE(view == SCHED_FLEET && revision > 0);
	fake.view_ended++;
}

void sched_view_events(struct sched *sched, enum sched_view view,
                       const struct kv_event *events, size_t count, int64_t revision)
{
	(void)sched;
	T_TRUE(view == SCHED_FLEET && count > 0);
	T_EQ(events[count - 1].record.mod_revision, revision);
	fake.view_events += (unsigned)count;
}

void sched_view_lost(struct sched *sched, enum sched_view view)
{
	(void)sched;
	T_EQ(view, SCHED_FLEET);
	fake.view_lost++;
}

void sched_view_closed(struct sched *sched, enum sched_view view)
{
	(void)sched;
	T_EQ(view, SCHED_FLEET);
	fake.view_closed++;
}

void sched_remote_list_records(struct sched *sched, uint32_t partition,
                               const struct kv_record *records, size_t count)
{
	struct keys_id id;

	(void)sched;
	if (fake.remote_page == 0)
		fake.remote_page = (unsigned)count;
	for (size_t i = 0; i < count; i++) {
		if (keys_parse(records[i].key, &id, NULL) != PL_OK)
			continue;
		T_TRUE(id.kind == KEYS_NODE || id.kind == KEYS_ALLOC);
		T_EQ(id.partition, partition);
		fake.remote_records++;
	}
}

void sched_remote_list_end(struct sched *sched, uint32_t partition, int64_t revision)
{
	(void)sched;
	(void)partition;
	fake.remote_lists++;
	fake.remote_revision = revision;
}

void sched_remote_list_failed(struct sched *sched, uint32_t partition,
                              const struct pl_err *why)
{
	sched_remote_list_end(sched, partition, 0);
	fake.remote_why = why->cause;
}

void sched_set_limits(struct sched *sched, struct kv_limits limits)
{
	(void)sched;
	fake.limits = limits;
}

static bool may_begin(const struct sched *sched, const struct fake_pod *pod)
{
	return pod->is == POD_WAITS && sched_is_open(sched, pod->partition) &&
	       !sched->part[pod->partition].quiescing;
}

unsigned sched_run(struct sched *sched, uint64_t now_ms, int64_t wall_ms, unsigned work)
{
	unsigned begun = 0;

	T_TRUE(wall_ms != 0);
	fake.runs++;
	if (work > fake.runs_max)
		fake.runs_max = work;
	fake.run_last = work;
	fake.clock_ns += fake.run_ns;
	sched->now_ms = now_ms;
	for (unsigned i = 0; i < sched->pods && begun < work; i++) {
		struct fake_pod *pod = &sched->pod[i];

		if (!may_begin(sched, pod) || pod->retry_ms > now_ms ||
		    sched->sent >= INFLIGHT)
			continue;
		pod->compare[0] = kv_if_absent(pl_span_str(pod->state));
		pod->put = kv_op_put(
			pl_span_str(pod->state),
			pl_span(filler, fake.value_bytes == 0 ? 4 : fake.value_bytes));
		pod->is = POD_READY;
		sched->sent++;
		begun++;
	}
	return begun;
}

uint64_t sched_deadline_ms(const struct sched *sched)
{
	uint64_t at = UINT64_MAX;

	for (unsigned i = 0; sched->sent < INFLIGHT && i < sched->pods; i++)
		if (may_begin(sched, &sched->pod[i]) && sched->pod[i].retry_ms < at)
			at = sched->pod[i].retry_ms;
	return at;
}

bool sched_next(struct sched *sched, struct sched_action *out)
{
	if (fake.relist && sched->part[0].owned) {
		fake.relist = false;
		*out = (struct sched_action){
			.what = SCHED_RELIST, .partition = 0, .part = SCHED_SCHEDULES};
		return true;
	}
	if (fake.view_anew) {
		fake.view_anew = false;
		*out = (struct sched_action){.what = SCHED_RELIST_VIEW,
		                             .view = SCHED_FLEET};
		return true;
	}
	if (fake.remote_list > 0) {
		*out = (struct sched_action){.what = SCHED_REMOTE_LIST,
		                             .partition = fake.remote_list - 1};
		fake.remote_list = 0;
		return true;
	}
	if (fake.malformed > 0) {
		fake.malformed--;
		pl_err_set(&sched->malformed, PL_INVALID, "no pod");
		*out = (struct sched_action){
			.what = SCHED_MALFORMED,
			.key = PL_SPAN_LIT("/schedules/0001/a/b/spec"),
			.err = &sched->malformed};
		return true;
	}
	for (unsigned i = 0; i < sched->pods; i++) {
		struct fake_pod *pod = &sched->pod[i];

		if (pod->is != POD_READY)
			continue;
		pod->is = POD_SENT;
		*out = (struct sched_action){.what = SCHED_TXN,
		                             .txn = i,
		                             .timeout_ms = 1000,
		                             .req = {.op = KV_TXN,
		                                     .txn = {.compares = pod->compare,
		                                             .compare_count = 1,
		                                             .then = &pod->put,
		                                             .then_count = 1}}};
		return true;
	}
	return false;
}

void sched_answer(struct sched *sched, uint32_t call, const struct kv_result *result,
                  const struct pl_err *err)
{
	struct fake_pod *pod = &sched->pod[call];

	T_TRUE(pod->is == POD_SENT && (result == NULL) == (err != NULL));
	if (!sched->part[pod->partition].owned ||
	    !sched->part[pod->partition].listed[SCHED_SCHEDULES]) {
		sched->sent--;
		*pod = (struct fake_pod){.partition = UINT32_MAX, .is = POD_DONE};
		return;
	}
	if (err != NULL && err->code == PL_UNKNOWN) {
		pod->is = POD_READY; /* committed again */
		return;
	}
	sched->sent--;
	pod->is = err == NULL ? POD_DONE : POD_WAITS;
	pod->retry_ms = err == NULL ? 0 : sched->now_ms + RETRY_MS;
}

void sched_figures(const struct sched *sched, struct sched_figures *out)
{
	*out = (struct sched_figures){.inflight = sched->sent};
}

enum pl_code sched_configure(struct sched *sched, const struct sched_settings *settings,
                             struct pl_err *err)
{
	(void)sched;
	if (fails_once(err) != PL_OK)
		return PL_NOMEM;
	fake.configured++;
	fake.batch = settings->batch_size;
	return PL_OK;
}

void sched_conflicts(const struct sched *sched, struct conflict_summary *out)
{
	(void)sched;
	*out = (struct conflict_summary){.nodes = 0};
}

const char *conflict_cause_name(enum conflict_cause cause)
{
	return cause == CONFLICT_ALLOC ? "alloc" : "other";
}

void sched_queue_stats(const struct sched *sched, struct queue_stats *out)
{
	(void)sched;
	*out = (struct queue_stats){0};
}

uint32_t sched_load(const struct sched *sched, uint32_t partition)
{
	T_TRUE(sched->part[partition].owned);
	return 10 + partition;
}

void sched_check(const struct sched *sched)
{
	(void)sched;
}
