/*
 * For tests of edits and bindings of pods: pods web-0, web-1, ... of namespace shop, nodes of
 * cluster east, the values as their client saw them, and the results.
 */
#ifndef TESTS_SUPPORT_COORD_SERVICE_POD_CHANGES_KIT_H
#define TESTS_SUPPORT_COORD_SERVICE_POD_CHANGES_KIT_H

#include "coord/service/pods/pod_changes.h"
#include "shardsched/model/parse.h"
#include "store/base/fault.h"
#include "store/keys/partition.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 8, NAMES = 12 };

static struct kit kit;
static struct service service;
static unsigned dones;
static struct pl_err failure;
static struct pod_change change[NAMES];
static struct pod_change_result result[NAMES];
static char why[NAMES][200];
static char name_text[NAMES][16], spec_text[NAMES][1200], state_text[NAMES][400],
	edited_text[NAMES][1200];
static unsigned reports;

static inline uint32_t partition_of(const char *name)
{
	uint32_t partition;

	T_OK(partition_of_pod(PL_SPAN_LIT("shop"), pl_span_str(name), PARTITIONS,
	                      &partition, NULL),
	     NULL);
	return partition;
}

static inline const char *key_of(unsigned i, const char *leaf)
{
	static char key[160];

	(void)snprintf(key, sizeof key, "/schedules/%04u/shop/%s/%s",
	               partition_of(name_text[i]), name_text[i], leaf);
	return key;
}

static inline const char *node_key(const char *kind, const char *name)
{
	static char key[160];
	uint32_t partition;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(name), PARTITIONS,
	                       &partition, NULL),
	     NULL);
	(void)snprintf(key, sizeof key, "/%s/%04u/east/%s", kind, partition, name);
	return key;
}

/* The members behind "labels" of metadata, and behind "containers" of spec. */
static inline void print_spec(char *out, unsigned i, const char *meta, const char *spec)
{
	(void)snprintf(out, 1200,
	               "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"%s\",\"uid\":"
	               "\"u-%u\"%s},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
	               "\"i\",\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]%s}}",
	               name_text[i], i, meta, spec);
}

static inline void see(unsigned i)
{
	change[i] = (struct pod_change){.pod = {.partition = partition_of(name_text[i]),
	                                        .namespace = PL_SPAN_LIT("shop"),
	                                        .name = pl_span_str(name_text[i])},
	                                .cluster = PL_SPAN_LIT("east"),
	                                .node = PL_SPAN_LIT("n-1")};
}

static inline void put_spec(unsigned i, const char *meta, const char *spec)
{
	print_spec(spec_text[i], i, meta, spec);
	change[i].spec.value = pl_span_str(spec_text[i]);
	change[i].spec.rev = kit_put(&kit, key_of(i, "spec"), spec_text[i]);
}

static inline void put_state(unsigned i, const char *members)
{
	(void)snprintf(state_text[i], sizeof state_text[i],
	               "{\"v\":1,\"uid\":\"u-%u\",%s,\"since\":"
	               "\"2026-11-21T09:00:00.000Z\"}",
	               i, members);
	change[i].state.value = pl_span_str(state_text[i]);
	change[i].state.rev = kit_put(&kit, key_of(i, "state"), state_text[i]);
}

#define BOUND_TO(node) \
	"\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"" node "\",\"shard\":\"s\""
#define WAITS "\"phase\":\"Pending\",\"attempts\":3,\"shard\":\"s\",\"reason\":\"fit\""

static inline void put_node(const char *name, const char *cpu, const char *alloc)
{
	char json[400];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":{"
	               "\"cpu\":\"%s\",\"memory\":\"8Gi\",\"pods\":\"110\"}}}",
	               name, cpu);
	(void)kit_put(&kit, node_key("nodes", name), json);
	(void)kit_put(&kit, node_key("alloc", name), alloc);
}

#define EMPTY "{\"v\":1,\"generation\":7}"

static inline void up(void)
{
	kit_open(&kit, NULL);
	service = (struct service){.kv = kit.kv,
	                           .partitions = PARTITIONS,
	                           .timeout_ms = 1000,
	                           .user = "ann"};
	dones = reports = 0;
	failure = (struct pl_err){0};
	for (unsigned i = 0; i < NAMES; i++) {
		(void)snprintf(name_text[i], sizeof name_text[i], "web-%u", i);
		see(i);
	}
}

static inline void down(void)
{
	kit_close(&kit);
}

static inline void on_report(void *ctx, uint32_t i, const struct pod_change_result *of)
{
	(void)ctx;
	result[i] = *of;
	(void)snprintf(why[i], sizeof why[i], "%s", of->why == NULL ? "" : of->why);
	reports++;
}

static inline void on_done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static inline struct pod_changes *start(uint32_t count)
{
	const struct pod_changes_opts opts = {.change = change,
	                                      .count = count,
	                                      .who = "api-1",
	                                      .wall_ms = 1000,
	                                      .report = on_report,
	                                      .done = on_done};
	struct pod_changes *changes;

	dones = reports = 0;
	T_OK(pod_changes_start(&service, &opts, &changes, &kit.err), &kit.err);
	T_EQ(dones, 0);
	return changes;
}

static inline void run(uint32_t count)
{
	(void)start(count);
	kit_until(&kit, kit.now_ms + 1000);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(reports, count);
}

static inline const char *value_at(const char *key)
{
	static char text[1600];

	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	if (kit.result.get.count == 0)
		return NULL;
	(void)snprintf(text, sizeof text, PL_SPAN_FMT,
	               PL_SPAN_ARG(kit.result.get.records[0].value));
	return text;
}

static inline int64_t rev_at(const char *key)
{
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	return kit.result.get.count == 0 ? 0 : kit.result.get.records[0].mod_revision;
}

static inline void edit(unsigned i, const char *meta, const char *spec)
{
	print_spec(edited_text[i], i, meta, spec);
	change[i].verb = POD_CHANGE_EDIT;
	change[i].edited = pl_span_str(edited_text[i]);
}

static inline void was_done(unsigned i)
{
	T_STR(why[i], "");
	T_EQ(result[i].outcome, POD_CHANGE_DONE);
}

static inline void was_refused(unsigned i, enum pod_refusal refusal)
{
	T_EQ(result[i].outcome, POD_CHANGE_REFUSED);
	T_STR(pod_refusal_word(result[i].refusal), pod_refusal_word(refusal));
	T_TRUE(why[i][0] != 0);
}

#define LABELS(app) ",\"labels\":{\"app\":\"" app "\"}"
#define NOTE ",\"annotations\":{\"note\":\"1\"}"
#define TOLERATES ",\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]"

static const char listed[] = "{\"v\":1,\"generation\":7,\"left\":2,\"used\":{\"cpu\":"
			     "\"500m\",\"pods\":\"1\"},\"pods\":{\"%04u\":{\"shop\":["
			     "\"web-0\"]}}}";

static inline void put_placed(const char *meta, const char *spec)
{
	char alloc[300];

	put_spec(0, meta, spec);
	put_state(0, BOUND_TO("n-1"));
	(void)snprintf(alloc, sizeof alloc, listed, partition_of("web-0"));
	put_node("n-1", "4", alloc);
}

#define SPREAD(app)                                                                   \
	",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","    \
	"\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":" \
	"{\"app\":\"" app "\"}}}]"
#define SPREAD_POD(app)                                                                  \
	"{\"metadata\":{\"namespace\":\"shop\"},\"spec\":{\"topologySpreadConstraints\"" \
	":[{\"labelSelector\":{\"matchLabels\":{\"app\":\"" app "\"}},\"maxSkew\":1,"    \
	"\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\"}]}}"

static inline struct rule_terms terms_of(const char *pod)
{
	static struct model model;
	struct parse parse = {.model = &model, .arena = &kit.arena};
	struct rule_terms terms;
	struct pod is = {0};

	model_init(&model);
	T_OK(pod_parse(&parse, pl_span_str(pod), &is, &kit.err), &kit.err);
	T_OK(rule_terms_of(&model, is.spec, &kit.arena, &terms, &kit.err), &kit.err);
	pod_drop(&model, &is);
	model_done(&model);
	T_TRUE(terms.count <= 1);
	return terms;
}

static inline const char *lock_key(const char *pod)
{
	static char key[160];

	(void)snprintf(key, sizeof key, "/groups/shop/%s", terms_of(pod).term[0].id);
	return key;
}

static inline void put_registry(const char *const *pods, unsigned count)
{
	struct rule_registry_term term[64];
	struct rule_registry registry = {.term = term, .terms = count};
	struct rule_terms terms[64];
	struct pl_buf buf;

	for (unsigned i = 0; i < count; i++) {
		unsigned at = i;

		terms[i] = terms_of(pods[i]);
		for (; at > 0 &&
		       pl_span_cmp(pl_span_str(terms[i].term[0].id), term[at - 1].id) < 0;
		     at--)
			term[at] = term[at - 1];
		term[at] = (struct rule_registry_term){
			.id = pl_span_str(terms[i].term[0].id),
			.kind = terms[i].term[0].kind,
			.pod = terms[i].term[0].pod};
		(void)kit_put(&kit, lock_key(pods[i]), "{\"v\":1,\"shard\":\"s\"}");
	}
	pl_buf_init(&buf, RULE_REGISTRY_BYTES_MAX);
	T_OK(rule_registry_print(&registry, &buf, &kit.err), &kit.err);
	T_OK(pl_buf_add(&buf, pl_span("", 1)), NULL);
	(void)kit_put(&kit, "/groups/shop/registry", (const char *)buf.at);
	pl_buf_done(&buf);
}

static inline void bind_pod(unsigned i)
{
	change[i].verb = POD_CHANGE_BIND;
}

#endif
