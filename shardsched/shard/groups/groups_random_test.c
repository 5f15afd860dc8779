/*
 * Several shards over one store, under random schedules: events late, answers lost,
 * partitions that move, nodes that are relabelled, pods that end, locks that somebody
 * deletes by hand. A naive judge looks at
 * every transaction that is about to be applied: each pod with rules that it binds must
 * be one that a single scheduler, deciding pod after pod on all that there is at that
 * moment, could have put there.
 */
#include <stdarg.h>

#include "shardsched/shard/sched_rig.h"
#include "store/keys/partition.h"

enum {
	SHARDS = 3,
	NODES = 9,
	ZONES = 3,
	PODS = 54,
	KINDS = 9,
	OUT_MAX = 24,
	BATCH = 5,
	NAME_SIZE = 16,
	NOWHERE = NODES,
};

/* -- what there is ------------------------------------------------------------------- */

/* Rules are about pods of one app: 'a' for app "a"; 0: none. */
struct kind {
	char app;
	char apart;      /* anti-affinity by zone */
	char apart_from; /* likewise, from pods of namespace web only, by pods of db */
	char near;       /* affinity by zone */
	char spread;     /* by zone, maxSkew 1 */
	char spread_host;
};

static const struct kind kinds[KINDS] = {
	{.app = 'a'},
	{.app = 's', .spread = 's'},
	{.app = 'x', .apart = 'x'},
	{.app = 'x'},
	{.app = 'f', .near = 'f'},
	{.app = 'g', .near = 's'},
	{.app = 'd', .apart_from = 'y'},
	{.app = 'h', .spread_host = 'h'},
	{.app = 'y', .near = 'a', .spread = 'y'},
};

static const struct kind *kind_of(uint32_t pod)
{
	return &kinds[pod % KINDS];
}

static const char *space_of(uint32_t pod)
{
	return kind_of(pod)->apart_from != 0 ? "db" : "web";
}

struct out {
	bool used;
	uint32_t call;
	struct kv_req req;
	int64_t epoch[RIG_PARTITIONS]; /* of those that were owned; 0: not */
};

struct shard {
	struct sched *sched;
	bool owned[RIG_PARTITIONS];
	uint32_t cursor[RIG_PARTITIONS][SCHED_PARTS];
	bool viewed;
	uint32_t view_cursor;
	struct out out[OUT_MAX];
};

static struct rig_store store;
static struct shard shards[SHARDS];
static int64_t epoch_of[RIG_PARTITIONS];
static uint64_t now_ms;
static struct pl_rng rng;
static struct pl_err err;
static unsigned judged, refused_txns, unknowns, relabels, ends, moves, unlocks;
static uint64_t bundles, bundles_failed;
static bool unlocking;

static uint32_t below(uint32_t n)
{
	return (uint32_t)pl_rng_below(&rng, n);
}

__attribute__((format(printf, 1, 2))) static const char *text(const char *fmt, ...)
{
	static char room[16][1024];
	static unsigned at;
	char *out = room[at++ % 16];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(out, 1024, fmt, args);
	va_end(args);
	return out;
}

static uint32_t home_of_node(uint32_t i)
{
	uint32_t p = 0;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(text("n-%u", i)),
	                       RIG_PARTITIONS, &p, &err),
	     &err);
	return p;
}

static uint32_t home_of_pod(uint32_t i)
{
	uint32_t p = 0;

	T_OK(partition_of_pod(pl_span_str(space_of(i)), pl_span_str(text("p-%u", i)),
	                      RIG_PARTITIONS, &p, &err),
	     &err);
	return p;
}

static const char *spec_key(uint32_t i)
{
	return text("/schedules/%04u/%s/p-%u/spec", home_of_pod(i), space_of(i), i);
}

static const char *state_key(uint32_t i)
{
	return text("/schedules/%04u/%s/p-%u/state", home_of_pod(i), space_of(i), i);
}

static const char *alloc_key(uint32_t i)
{
	return text("/alloc/%04u/east/n-%u", home_of_node(i), i);
}

static const char *node_key(uint32_t i)
{
	return text("/nodes/%04u/east/n-%u", home_of_node(i), i);
}

static const char *value_of(const char *key)
{
	struct kv_record *record = rig_get(&store, pl_span_str(key));

	return record == NULL ? "" : (const char *)record->value.at;
}

static void set(const char *key, const char *value)
{
	rig_set(&store, pl_span_str(key), pl_span_str(value));
}

static const char *selecting(char app)
{
	return text("\"labelSelector\":{\"matchLabels\":{\"app\":\"%c\"}}", app);
}

static const char *pod_json(uint32_t i)
{
	const struct kind *kind = kind_of(i);
	const char *zone = "\"topologyKey\":\"zone\"", *rules = "";

	if (kind->apart != 0)
		rules = text(
			",\"affinity\":{\"podAntiAffinity\":{"
			"\"requiredDuringSchedulingIgnoredDuringExecution\":[{%s,%s}]}}",
			selecting(kind->apart), zone);
	if (kind->apart_from != 0)
		rules = text(",\"affinity\":{\"podAntiAffinity\":{"
		             "\"requiredDuringSchedulingIgnoredDuringExecution\":[{%s,%s,"
		             "\"namespaceSelector\":{\"matchLabels\":{"
		             "\"kubernetes.io/metadata.name\":\"web\"}}}]}}",
		             selecting(kind->apart_from), zone);
	if (kind->near != 0)
		rules = text(
			",\"affinity\":{\"podAffinity\":{"
			"\"requiredDuringSchedulingIgnoredDuringExecution\":[{%s,%s}]}}",
			selecting(kind->near), zone);
	if (kind->spread != 0)
		rules = text("%s,\"topologySpreadConstraints\":[{%s,%s,\"maxSkew\":1,"
		             "\"whenUnsatisfiable\":\"DoNotSchedule\"}]",
		             rules, selecting(kind->spread), zone);
	if (kind->spread_host != 0)
		rules = text(",\"topologySpreadConstraints\":[{%s,\"topologyKey\":"
		             "\"kubernetes.io/hostname\",\"maxSkew\":1,"
		             "\"whenUnsatisfiable\":\"DoNotSchedule\"}]",
		             selecting(kind->spread_host));
	return text(
		"{\"metadata\":{\"namespace\":\"%s\",\"name\":\"p-%u\",\"uid\":\"u-%u\","
		"\"labels\":{\"app\":\"%c\"}},\"spec\":{\"priority\":0%s,\"containers\":"
		"[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
		space_of(i), i, i, kind->app, rules);
}

static void put_node(uint32_t i, uint32_t zone)
{
	store.revision++;
	set(node_key(i),
	    text("{\"metadata\":{\"name\":\"n-%u\",\"labels\":{\"zone\":\"z%u\","
	         "\"kubernetes.io/hostname\":\"n-%u\"}},\"status\":{\"allocatable\":{"
	         "\"cpu\":\"9\",\"memory\":\"64Gi\",\"pods\":\"110\"}}}",
	         i, zone, i));
}

/* -- the judge ----------------------------------------------------------------------- */

struct truth {
	uint32_t zone[NODES]; /* ZONES: there is no such node */
	uint32_t at[PODS];    /* NOWHERE: not bound */
};

static uint32_t number_of(struct pl_span name)
{
	uint32_t number = 0;

	for (size_t i = 2; i < name.len; i++)
		number = number * 10 + name.at[i] - '0';
	return number;
}

static struct alloc alloc_of(uint32_t node)
{
	struct alloc alloc = {0};

	T_OK(alloc_parse(pl_span_str(value_of(alloc_key(node))), &store.arena, &alloc,
	                 &err),
	     &err);
	return alloc;
}

static void look(struct truth *truth)
{
	for (uint32_t i = 0; i < PODS; i++)
		truth->at[i] = NOWHERE;
	for (uint32_t n = 0; n < NODES; n++) {
		const char *label = strstr(value_of(node_key(n)), "\"zone\":\"z");
		struct alloc alloc;

		truth->zone[n] = label == NULL ? ZONES : (uint32_t)(label[9] - '0');
		if (label == NULL)
			continue;
		alloc = alloc_of(n);
		for (uint32_t i = 0; i < alloc.pods; i++)
			truth->at[number_of(alloc.pod[i].name)] = n;
	}
}

static bool is_web(uint32_t pod)
{
	return kind_of(pod)->apart_from == 0;
}

static bool clash(const struct truth *truth, uint32_t a, uint32_t b)
{
	const struct kind *x = kind_of(a), *y = kind_of(b);

	(void)truth;
	return (x->apart != 0 && x->apart == y->app && is_web(b)) ||
	       (x->apart_from != 0 && x->apart_from == y->app && is_web(b));
}

static uint32_t count_in(const struct truth *truth, char app, uint32_t zone)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PODS; i++)
		count += truth->at[i] != NOWHERE && kind_of(i)->app == app &&
		         (zone == ZONES || truth->zone[truth->at[i]] == zone);
	return count;
}

static bool is_zone(const struct truth *truth, uint32_t zone)
{
	for (uint32_t n = 0; n < NODES; n++)
		if (truth->zone[n] == zone)
			return true;
	return false;
}

static bool zone_skews(const struct truth *truth, uint32_t pod, uint32_t zone)
{
	char app = kind_of(pod)->spread;
	uint32_t least = UINT32_MAX;
	uint32_t own = count_in(truth, app, zone) + (kind_of(pod)->app == app);

	for (uint32_t z = 0; z < ZONES; z++)
		if (is_zone(truth, z) && count_in(truth, app, z) < least)
			least = count_in(truth, app, z);
	return own > least + 1;
}

static bool host_skews(const struct truth *truth, uint32_t pod, uint32_t node)
{
	char app = kind_of(pod)->spread_host;
	uint32_t count[NODES] = {0}, least = UINT32_MAX;

	for (uint32_t i = 0; i < PODS; i++)
		if (truth->at[i] != NOWHERE && kind_of(i)->app == app)
			count[truth->at[i]]++;
	for (uint32_t n = 0; n < NODES; n++)
		if (truth->zone[n] != ZONES && count[n] < least)
			least = count[n];
	return count[node] + (kind_of(pod)->app == app) > least + 1;
}

/* NULL: one scheduler could put it there now. */
static const char *complaint(const struct truth *truth, uint32_t pod, uint32_t node)
{
	const struct kind *kind = kind_of(pod);
	uint32_t zone = truth->zone[node];

	if (zone == ZONES)
		return "there is no such node";
	for (uint32_t i = 0; i < PODS; i++)
		if (i != pod && truth->at[i] != NOWHERE &&
		    truth->zone[truth->at[i]] == zone &&
		    (clash(truth, pod, i) || clash(truth, i, pod)))
			return "it is not to be with one that is there";
	if (kind->near != 0 && count_in(truth, kind->near, zone) == 0 &&
	    (kind->near != kind->app || count_in(truth, kind->near, ZONES) > 0))
		return "it is to be where one is";
	if (kind->spread != 0 && zone_skews(truth, pod, zone))
		return "zones are not even";
	if (kind->spread_host != 0 && host_skews(truth, pod, node))
		return "hosts are not even";
	return NULL;
}

struct bind {
	uint32_t pod, node;
};

/* In some order one after the other. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as there are binds */
static bool can_be(struct truth *truth, struct bind *bind, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct bind last = bind[count - 1], it = bind[i];
		bool can;

		if (complaint(truth, it.pod, it.node) != NULL)
			continue;
		truth->at[it.pod] = it.node;
		bind[i] = last;
		can = can_be(truth, bind, count - 1);
		bind[i] = it;
		bind[count - 1] = last;
		truth->at[it.pod] = NOWHERE;
		if (can)
			return true;
	}
	return count == 0;
}

static uint32_t binds_of(const struct kv_txn *txn, struct bind *bind)
{
	uint32_t count = 0;

	for (size_t i = 0; i < txn->then_count; i++) {
		struct keys_id id;
		struct pod_state state;

		if (txn->then[i].op != KV_PUT)
			continue;
		T_EQ(keys_parse(txn->then[i].put.key, &id, NULL), PL_OK);
		if (id.kind != KEYS_STATE)
			continue;
		T_OK(state_parse(txn->then[i].put.value, &store.arena, &state, &err),
		     &err);
		if (state.phase == STATE_BOUND)
			bind[count++] =
				(struct bind){number_of(id.name), number_of(state.node)};
	}
	return count;
}

static void judge(const struct kv_txn *txn)
{
	struct bind bind[PODS];
	struct truth truth;
	uint32_t count = binds_of(txn, bind);

	look(&truth);
	judged += count;
	if (can_be(&truth, bind, count))
		return;
	for (uint32_t i = 0; i < count; i++) {
		const char *why = complaint(&truth, bind[i].pod, bind[i].node);

		if (why != NULL)
			t_fail(__FILE__, __LINE__, "p-%u on n-%u at %lld: %s",
			       bind[i].pod, bind[i].node, (long long)store.revision, why);
	}
	t_fail(__FILE__, __LINE__, "in no order");
}

/* -- the store ----------------------------------------------------------------------- */

/* By hand, and no other key with it. */
static void unlock(struct pl_span key)
{
	struct keys_id id;

	T_EQ(keys_parse(key, &id, NULL), PL_OK);
	if (rig_get(&store, key) == NULL ||
	    (id.kind != KEYS_GROUP && id.kind != KEYS_SHAPE))
		return;
	unlocks++;
	store.revision++;
	rig_unset(&store, key);
}

static void unlock_any(void)
{
	struct kv_keys locks = kv_prefix(PL_SPAN_LIT("/groups/"));
	uint32_t first = rig_at(&store, locks.from), count = 0;

	while (first + count < store.keys &&
	       kv_key_in(locks, store.key[first + count].key))
		count++;
	unlock(store.key[first + below(count)].key);
}

/* The moment in which it hurts: the lock tells of what others have not heard yet. */
static void unlock_put(const struct kv_txn *txn)
{
	for (size_t i = 0; i < txn->then_count; i++)
		if (txn->then[i].op == KV_PUT && below(2) == 0)
			unlock(txn->then[i].put.key);
}

static struct kv_result apply(const struct kv_txn *txn)
{
	struct kv_result result;
	bool holds = true;

	for (size_t i = 0; i < txn->compare_count; i++)
		holds = holds && rig_holds(&store, &txn->compares[i]);
	if (holds)
		judge(txn);
	else
		refused_txns++;
	result = rig_exec(&store, txn);
	if (holds && unlocking && below(2) == 0)
		unlock_put(txn);
	return result;
}

static bool is_fenced(const struct out *out)
{
	for (size_t i = 0; i < out->req.txn.then_count; i++) {
		struct keys_id id;

		if (out->req.txn.then[i].op != KV_PUT)
			continue;
		T_EQ(keys_parse(out->req.txn.then[i].put.key, &id, NULL), PL_OK);
		if (id.kind != KEYS_ALLOC && id.kind != KEYS_STATE)
			continue;
		if (out->epoch[id.partition] != 0 &&
		    out->epoch[id.partition] != epoch_of[id.partition])
			return true;
	}
	return false;
}

static void fail(struct shard *shard, struct out *out, enum pl_code code)
{
	struct pl_err why = {0};

	pl_err_set(&why, code, "as the test wants it");
	out->used = false;
	sched_answer(shard->sched, out->call, NULL, &why);
}

static void end_call(struct shard *shard, struct out *out, uint32_t how)
{
	struct kv_result result;

	if (is_fenced(out)) {
		fail(shard, out, PL_FENCED);
		return;
	}
	if (how >= 90) {
		unknowns++;
		if (how >= 95)
			(void)apply(&out->req.txn);
		fail(shard, out, PL_UNKNOWN);
		return;
	}
	if (how >= 85) {
		fail(shard, out, PL_BUSY);
		return;
	}
	result = apply(&out->req.txn);
	out->used = false;
	sched_answer(shard->sched, out->call, &result, NULL);
}

/* -- shards -------------------------------------------------------------------------- */

static struct kv_keys keys_of(uint32_t p, unsigned part)
{
	return kv_prefix(pl_span_str(text("%s%04u/", rig_prefix[part], p)));
}

static void list(struct shard *shard, uint32_t p, unsigned part)
{
	struct kv_keys keys = keys_of(p, part);

	sched_list_begin(shard->sched, p, (enum sched_part)part);
	for (uint32_t i = 0; i < store.keys; i++)
		if (store.key[i].mod_revision != 0 && kv_key_in(keys, store.key[i].key))
			sched_list_records(shard->sched, p, (enum sched_part)part,
			                   &store.key[i], 1);
	sched_list_end(shard->sched, p, (enum sched_part)part);
	shard->cursor[p][part] = store.logged;
}

static void own(struct shard *shard, uint32_t p)
{
	shard->owned[p] = true;
	epoch_of[p]++;
	T_OK(sched_own(shard->sched, p, epoch_of[p], &err), &err);
	for (unsigned part = 0; part < SCHED_PARTS; part++)
		list(shard, p, part);
}

static void deliver(struct shard *shard, uint32_t p, unsigned part, unsigned most)
{
	uint32_t *at = &shard->cursor[p][part];
	struct kv_keys keys = keys_of(p, part);

	while (shard->owned[p] && *at < store.logged && most > 0) {
		const struct kv_event *event = &store.log[(*at)++];

		if (!kv_key_in(keys, event->record.key))
			continue;
		sched_events(shard->sched, p, (enum sched_part)part, event, 1);
		most--;
	}
}

static struct kv_keys view_keys(void)
{
	return (struct kv_keys){.kind = KV_RANGE,
	                        .from = PL_SPAN_LIT("/alloc/"),
	                        .to = PL_SPAN_LIT("/nodes0")};
}

static void view_list(struct shard *shard)
{
	shard->viewed = true;
	sched_view_begin(shard->sched, SCHED_WHOLE);
	for (uint32_t i = 0; i < store.keys; i++)
		if (store.key[i].mod_revision != 0 &&
		    kv_key_in(view_keys(), store.key[i].key))
			sched_view_records(shard->sched, SCHED_WHOLE, &store.key[i], 1);
	sched_view_end(shard->sched, SCHED_WHOLE, store.revision);
	shard->view_cursor = store.logged;
}

static void views(struct shard *shard)
{
	bool wanted = sched_view_wanted(shard->sched, SCHED_WHOLE);

	if (wanted && !shard->viewed) {
		view_list(shard);
	} else if (!wanted && shard->viewed) {
		shard->viewed = false;
		sched_view_closed(shard->sched, SCHED_WHOLE);
	}
}

/* All of a revision comes at once, as a watch sends it. */
static void view_deliver(struct shard *shard, unsigned most)
{
	uint32_t *at = &shard->view_cursor;

	while (shard->viewed && *at < store.logged && most > 0) {
		int64_t revision = store.log[*at].record.mod_revision;

		for (;
		     *at < store.logged && store.log[*at].record.mod_revision == revision;
		     (*at)++)
			if (kv_key_in(view_keys(), store.log[*at].record.key))
				sched_view_events(shard->sched, SCHED_WHOLE,
				                  &store.log[*at], 1, 0);
		sched_view_events(shard->sched, SCHED_WHOLE, NULL, 0, revision);
		most--;
	}
}

static void visit(struct shard *shard, uint32_t p)
{
	for (unsigned part = 0; part < SCHED_SCHEDULES; part++)
		for (uint32_t i = 0; i < store.keys; i++)
			if (store.key[i].mod_revision != 0 &&
			    kv_key_in(keys_of(p, part), store.key[i].key))
				sched_visit_records(shard->sched, p, &store.key[i], 1);
	sched_visit_end(shard->sched, p, store.revision);
}

static void call(struct shard *shard, const struct sched_action *action)
{
	unsigned i = 0;

	while (shard->out[i].used)
		i++;
	T_TRUE(i < OUT_MAX);
	shard->out[i] =
		(struct out){.used = true, .call = action->call, .req = action->req};
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		shard->out[i].epoch[p] = shard->owned[p] ? epoch_of[p] : 0;
}

static void run(struct shard *shard)
{
	struct sched_action action;

	views(shard);
	sched_run(shard->sched, now_ms, 1763715600000 + (int64_t)now_ms, 64);
	while (sched_next(shard->sched, &action)) {
		switch (action.what) {
		case SCHED_CALL:
			call(shard, &action);
			break;
		case SCHED_RELIST:
			if (shard->owned[action.partition])
				list(shard, action.partition, (unsigned)action.part);
			break;
		case SCHED_ANEW:
			if (shard->viewed)
				view_list(shard);
			break;
		case SCHED_VISIT:
			visit(shard, action.partition);
			break;
		case SCHED_GARBLED:
		case SCHED_TROUBLE:
			break;
		}
	}
	sched_check(shard->sched);
}

/* -- what others do ------------------------------------------------------------------ */

static void put_alloc(uint32_t node, uint32_t drop)
{
	struct alloc alloc = alloc_of(node);
	struct alloc_pod pods[PODS];
	struct pl_buf buf = {.max = 1 << 16};
	uint32_t count = 0;

	for (uint32_t i = 0; i < alloc.pods; i++)
		if (number_of(alloc.pod[i].name) != drop)
			pods[count++] = alloc.pod[i];
	alloc.generation++;
	alloc.used = (struct alloc_amounts){.pods = count,
	                                    .cpu_milli = (int64_t)count * 1000,
	                                    .nonzero_cpu_milli = (int64_t)count * 1000,
	                                    .nonzero_memory =
	                                            (int64_t)count * 200 * 1024 * 1024};
	alloc.pod = pods;
	alloc.pods = count;
	T_OK(alloc_print(&alloc, &buf, &err), &err);
	rig_set(&store, pl_span_str(alloc_key(node)), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void relabel(uint32_t node)
{
	relabels++;
	put_node(node, below(ZONES));
	put_alloc(node, PODS);
	set("/groups/nodes", "{\"v\":1}");
}

/* Whoever ends a pod puts the locks of those who look at it, be they there or not; here,
 * of all. */
static void pod_ends(uint32_t pod)
{
	struct truth truth;

	look(&truth);
	if (value_of(spec_key(pod))[0] == 0 || truth.at[pod] == NOWHERE)
		return;
	ends++;
	store.revision++;
	put_alloc(truth.at[pod], pod);
	rig_unset(&store, pl_span_str(state_key(pod)));
	rig_unset(&store, pl_span_str(spec_key(pod)));
	for (uint32_t i = 0; i < store.keys; i++) {
		struct pl_span key = store.key[i].key;
		struct keys_id id;

		T_EQ(keys_parse(key, &id, NULL), PL_OK);
		if (id.kind == KEYS_GROUP)
			rig_set(&store, key, PL_SPAN_LIT("{\"v\":1}"));
	}
}

static void pod_comes(uint32_t pod)
{
	if (value_of(spec_key(pod))[0] != 0)
		return;
	store.revision++;
	set(spec_key(pod), pod_json(pod));
}

static void others_step(void)
{
	switch (below(20)) {
	case 0:
		relabel(below(NODES));
		return;
	case 1:
	case 2:
	case 3:
	case 4:
		pod_ends(below(PODS));
		return;
	default:
		pod_comes(below(PODS));
		return;
	}
}

static void move(uint32_t p)
{
	uint32_t from = 0, to = below(SHARDS);

	while (!shards[from].owned[p])
		from++;
	if (from == to)
		return;
	moves++;
	shards[from].owned[p] = false;
	epoch_of[p]++;
	sched_lost(shards[from].sched, p);
	own(&shards[to], p);
}

/* -- histories ----------------------------------------------------------------------- */

static void step(void)
{
	struct shard *shard = &shards[below(SHARDS)];
	bool checked = false;

	if (below(4) == 0)
		others_step();
	if (unlocking && below(12) == 0)
		unlock_any();
	if (below(150) == 0)
		move(below(RIG_PARTITIONS));
	if (below(300) == 0 && shard->viewed)
		view_list(shard);
	if (below(2) == 0)
		deliver(shard, below(RIG_PARTITIONS), below(SCHED_PARTS), 1 + below(6));
	if (below(2) == 0)
		view_deliver(shard, 1 + below(8));
	if (below(2) == 0) {
		now_ms += below(100);
		run(shard);
		checked = true; /* as it is now */
	}
	for (unsigned i = 0; i < OUT_MAX; i++) {
		if (!shard->out[i].used || below(3) != 0)
			continue;
		end_call(shard, &shard->out[i], below(100));
		checked = false;
	}
	if (!checked)
		sched_check(shard->sched);
}

static bool calm_shard(struct shard *shard)
{
	bool more = false;

	run(shard);
	for (unsigned i = 0; i < OUT_MAX; i++) {
		if (!shard->out[i].used)
			continue;
		end_call(shard, &shard->out[i], 0);
		more = true;
	}
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		for (unsigned part = 0; part < SCHED_PARTS; part++)
			deliver(shard, p, part, UINT32_MAX);
	view_deliver(shard, UINT32_MAX);
	return more;
}

static void calm_round(void)
{
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < SHARDS; i++)
			more = calm_shard(&shards[i]) || more;
	}
	now_ms += 11000;
}

static const struct shard *owner_of(uint32_t p)
{
	const struct shard *shard = shards;

	while (!shard->owned[p])
		shard++;
	return shard;
}

/* Who is not bound could not be, on its own shard's nodes. */
static void check_end(void)
{
	struct truth truth;

	look(&truth);
	for (uint32_t i = 0; i < PODS; i++) {
		if (truth.at[i] != NOWHERE || value_of(spec_key(i))[0] == 0)
			continue;
		for (uint32_t n = 0; n < NODES; n++)
			if (complaint(&truth, i, n) == NULL && alloc_of(n).pods < 9 &&
			    owner_of(home_of_node(n)) == owner_of(home_of_pod(i)))
				t_fail(__FILE__, __LINE__, "p-%u fits on n-%u", i, n);
	}
}

static void begin(uint64_t seed)
{
	pl_rng_init(&rng, seed);
	store = (struct rig_store){.revision = 100};
	pl_arena_init(&store.arena, 1 << 20, 0);
	store.log = calloc(RIG_LOG_MAX, sizeof *store.log);
	memset(shards, 0, sizeof shards);
	memset(epoch_of, 0, sizeof epoch_of);
	now_ms = 1000;
	unlocking = seed % 2 == 0;
	for (uint32_t n = 0; n < NODES; n++) {
		put_node(n, n % ZONES);
		set(alloc_key(n), "{\"v\":1,\"generation\":1}");
		set("/groups/nodes", "{\"v\":1}");
	}
	for (unsigned i = 0; i < SHARDS; i++) {
		struct sched_opts opts = {.shard = text("east-%u", i),
		                          .ready_classes = i,
		                          .partitions = RIG_PARTITIONS,
		                          .batch = 1 + below(BATCH),
		                          .seed = seed + i};

		T_OK(sched_new(&opts, &shards[i].sched, &err), &err);
	}
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		own(&shards[below(SHARDS)], p);
}

static void finish(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		struct sched_figures figures;

		sched_figures(shards[i].sched, &figures);
		bundles += figures.bundles;
		bundles_failed += figures.bundles_failed;
		sched_free(shards[i].sched);
	}
	free(store.log);
	pl_arena_done(&store.arena);
}

static void history(uint64_t seed, unsigned steps)
{
	begin(seed);
	for (unsigned i = 0; i < steps; i++)
		step();
	for (unsigned i = 0; i < 40; i++)
		calm_round();
	check_end();
	finish();
}

T_CASE_SECONDS(rules_hold_whoever_places, 120)
{
	uint64_t seed = t_seed();

	for (unsigned i = 0; i < 30; i++) {
		(void)printf("# history %u of seed %llu\n", i, (unsigned long long)seed);
		(void)fflush(stdout);
		history(seed * 1000 + i, 1500);
	}
	(void)printf(
		"# judged %u, refused %u, unknown %u, relabelled %u, ended %u, moved %u, "
		"unlocked %u, bundles %llu, failed %llu\n",
		judged, refused_txns, unknowns, relabels, ends, moves, unlocks,
		(unsigned long long)bundles, (unsigned long long)bundles_failed);
	T_TRUE(judged > 1000 && refused_txns > 200 && unknowns > 100 && relabels > 50);
	T_TRUE(unlocks > 200);
	T_TRUE(ends > 100 && moves > 50 && bundles > 500 && bundles_failed > 100);
}
