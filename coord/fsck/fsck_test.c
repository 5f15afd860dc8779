/* A store that is as it should be, and one that is broken in each way that has a code:
 * each is found, and where it can be derived, mended and clean afterwards. */
#include "coord/fsck/fsck.h"
#include "coord/fsck/mend.h"
#include "shardsched/ledger/alloc.h"
#include "shardsched/ledger/home.h"
#include "store/keys/partition.h"
#include "store/kv/faulty.h"
#include "store/memkv/kit.h"
#include "tests/harness/torture.h"

enum { PARTITIONS = 8, TEXT_SIZE = 4096 };

static struct kit kit;
static struct fsck *fsck;
static struct result {
	bool over;
	struct pl_err err;
	int64_t revision;
	unsigned found[FSCK_CODE_COUNT], total, pages;
	char said[TEXT_SIZE];
} r;
static struct mended {
	bool over;
	struct pl_err err;
	unsigned count[MEND_REFUSED + 1];
	char why[TEXT_SIZE];
} m;

/* -- keys and values --------------------------------------------------------------- */

static uint32_t node_partition(const char *name)
{
	uint32_t out;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(name), PARTITIONS, &out,
	                       NULL),
	     NULL);
	return out;
}

static uint32_t pod_partition(const char *space, const char *name)
{
	uint32_t out;

	T_OK(partition_of_pod(pl_span_str(space), pl_span_str(name), PARTITIONS, &out,
	                      NULL),
	     NULL);
	return out;
}

static const char *key_in(enum keys_kind kind, uint32_t partition, const char *scope,
                          const char *name)
{
	static struct keys_text text[4];
	static unsigned at;
	struct keys_id id = {.kind = kind,
	                     .partition = partition,
	                     .scope = pl_span_str(scope),
	                     .name = pl_span_str(name)};

	at = (at + 1) % 4;
	T_OK(keys_build(&id, &text[at], NULL), NULL);
	return text[at].at;
}

static const char *node_key(enum keys_kind kind, const char *name)
{
	return key_in(kind, node_partition(name), "east", name);
}

static const char *pod_key(enum keys_kind kind, const char *space, const char *name)
{
	return key_in(kind, pod_partition(space, name), space, name);
}

static void drop(const char *key)
{
	T_EQ(kit_delete(&kit, kv_key(pl_span_str(key))), 1);
}

static void put_node(const char *name, unsigned cpu)
{
	char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":{"
	               "\"cpu\":\"%u\",\"memory\":\"8Gi\",\"pods\":\"10\","
	               "\"ephemeral-storage\":\"1Gi\","
	               "\"example.com/gpu\":\"2\"}}}",
	               name, cpu);
	(void)kit_put(&kit, node_key(KEYS_NODE, name), json);
}

static const char *spec_of(const char *space, const char *name, const char *more)
{
	static char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\"%s},\"spec\":{"
	               "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
	               "\"requests\":{\"cpu\":\"500m\",\"memory\":\"64Mi\"}}}]}}",
	               space, name, more);
	return json;
}

#define GANG ",\"annotations\":{\"placet.io/gang\":\"t\",\"placet.io/gang-min\":\"1\"}"

static const char *state_of(const char *phase, const char *node, const char *epoch)
{
	static char json[TEXT_SIZE];
	char place[100] = "";

	if (node != NULL)
		(void)snprintf(place, sizeof place,
		               "\"cluster\":\"east\",\"node\":\"%s\",", node);
	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"phase\":\"%s\",%s\"shard\":\"s\",\"epoch\":\"%s\","
	               "\"since\":\"2026-11-21T09:00:00.000Z\"}",
	               phase, place, epoch);
	return json;
}

static void put_state(const char *space, const char *name, const char *json)
{
	(void)kit_put(&kit, pod_key(KEYS_STATE, space, name), json);
}

static void put_bound(const char *name, const char *node)
{
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", name), spec_of("web", name, ""));
	put_state("web", name, state_of("Bound", node, "1"));
}

/* pods: "web/a web/b"; their partitions are those of their names. */
static const char *alloc_of(unsigned listed, const char *pods)
{
	static char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"%um\",\"memory\":"
	               "\"%u\",\"pods\":\"%u\"},\"pods\":{%s}}",
	               listed * 500, listed * (64u << 20), listed, pods);
	return json;
}

static uint32_t gang_home(void)
{
	struct partition_group group = {.namespace = PL_SPAN_LIT("db"),
	                                .gang = PL_SPAN_LIT("t")};
	uint32_t out;

	T_OK(partition_of_group(&group, PARTITIONS, &out, NULL), NULL);
	return out;
}

/* A name whose own partition is another than the gang's. */
static const char *gang_pod(void)
{
	static char name[16];

	for (unsigned i = 0;; i++) {
		(void)snprintf(name, sizeof name, "g%u", i);
		if (pod_partition("db", name) != gang_home())
			return name;
	}
}

static const char *listed(const char *space, const char *name, uint32_t partition)
{
	static char text[4][100];
	static unsigned at;

	at = (at + 1) % 4;
	(void)snprintf(text[at], sizeof text[at], "\"%04u\":{\"%s\":[\"%s\"]}", partition,
	               space, name);
	return text[at];
}

/* In both: it terminates. */
static const char *leaving(const char *pods)
{
	static char text[300];

	(void)snprintf(text, sizeof text, "%s},\"leaving\":{%s", pods, pods);
	return text;
}

static void put_alloc_two(void)
{
	uint32_t a = pod_partition("web", "a"), b = pod_partition("web", "b");
	char pods[300];

	if (a == b)
		(void)snprintf(pods, sizeof pods, "\"%04u\":{\"web\":[\"a\",\"b\"]}", a);
	else if (a < b)
		(void)snprintf(pods, sizeof pods, "%s,%s", listed("web", "a", a),
		               listed("web", "b", b));
	else
		(void)snprintf(pods, sizeof pods, "%s,%s", listed("web", "b", b),
		               listed("web", "a", a));
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-0"), alloc_of(2, pods));
}

static void put_pointer(void)
{
	char text[POINTER_TEXT_SIZE + 1] = "";
	struct pl_span pointer = pointer_text(gang_home(), text);

	text[pointer.len] = 0;
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "db", gang_pod()), text);
}

/* n-0 has web/a and web/b, n-1 the gang's pod, n-2 nothing; web/c waits. */
static void up_over(const struct faulty_rule *rules, size_t count)
{
	kit_open(&kit, NULL);
	if (count > 0)
		T_OK(faulty_open(kit.kv, t_seed(), rules, count, &kit.kv, &kit.err),
		     &kit.err);
	if (count > 0)
		faulty_calm(kit.kv, true);
	(void)kit_put(&kit, "/partitions/0003/owner", "{\"v\":1,\"shard\":\"s\"}");
	put_node("n-0", 4);
	put_node("n-1", 4);
	put_node("n-2", 4);
	put_bound("a", "n-0");
	put_bound("b", "n-0");
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "c"), spec_of("web", "c", ""));
	(void)kit_put(&kit, key_in(KEYS_SPEC, gang_home(), "db", gang_pod()),
	              spec_of("db", gang_pod(), GANG));
	(void)kit_put(&kit, key_in(KEYS_STATE, gang_home(), "db", gang_pod()),
	              state_of("Terminating", "n-1", "1"));
	put_pointer();
	put_alloc_two();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"),
	              alloc_of(1, leaving(listed("db", gang_pod(), gang_home()))));
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"), "{\"v\":1,\"generation\":1}");
}

static void up(void)
{
	up_over(NULL, 0);
}

/* -- checking ---------------------------------------------------------------------- */

static void on_found(void *ctx, const struct fsck_finding *finding)
{
	size_t len = strlen(r.said);

	(void)ctx;
	T_TRUE(finding->key.len > 0 && finding->what[0] != 0);
	r.found[finding->code]++;
	r.total++;
	(void)snprintf(r.said + len, sizeof r.said - len, "%s " PL_SPAN_FMT ": %s\n",
	               fsck_code_word(finding->code), PL_SPAN_ARG(finding->key),
	               finding->what);
}

static void on_progress(void *ctx, const struct fsck_counts *counts)
{
	(void)ctx;
	(void)counts;
	r.pages++;
}

static void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	(void)ctx;
	r.over = true;
	r.revision = revision;
	if (err != NULL)
		r.err = *err;
}

static void run(const bool *over)
{
	while (!*over) {
		if (memkv_next_ms(kit.mem) > kit.now_ms)
			kit.now_ms = memkv_next_ms(kit.mem);
		kit_run(&kit, kit.now_ms);
	}
}

static enum pl_code start(void)
{
	struct fsck_opts opts = {.partitions = PARTITIONS,
	                         .by = PL_SPAN_LIT("tester"),
	                         .wall_ms = 1000,
	                         .seed = 7,
	                         .page_keys = 3,
	                         .timeout_ms = 1000,
	                         .found = on_found,
	                         .progress = on_progress,
	                         .done = on_done};

	memset(&r, 0, sizeof r);
	return fsck_open(kit.kv, &opts, &fsck, &kit.err);
}

static void check(void)
{
	fsck_free(fsck);
	fsck = NULL;
	T_OK(start(), &kit.err);
	run(&r.over);
	T_CODE(r.err.code, PL_OK, &r.err);
}

static void down(void)
{
	kit_close(&kit);
	fsck_free(fsck);
	fsck = NULL;
}

/* This was found, so often, and nothing else. */
static void finds(enum fsck_code code, unsigned count)
{
	check();
	if (r.found[code] != count || r.total != count)
		t_fail(__FILE__, __LINE__, "want %u of %s, found:\n%s", count,
		       fsck_code_word(code), r.said);
}

static void clean(void)
{
	check();
	if (r.total != 0)
		t_fail(__FILE__, __LINE__, "found:\n%s", r.said);
}

static void on_mended(void *ctx, const struct mend_told *told)
{
	size_t len = strlen(m.why);

	(void)ctx;
	m.count[told->outcome]++;
	T_EQ(told->outcome == MEND_REFUSED, told->why != NULL);
	if (told->why != NULL)
		(void)snprintf(m.why + len, sizeof m.why - len, "%s\n", told->why);
}

static void on_mend_done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	m.over = true;
	if (err != NULL)
		m.err = *err;
}

static enum pl_code mend_start(bool dry)
{
	struct mend_opts opts = {.core = fsck_core(fsck),
	                         .partitions = PARTITIONS,
	                         .revision = r.revision,
	                         .dry_run = dry,
	                         .timeout_ms = 100,
	                         .told = on_mended,
	                         .done = on_mend_done};
	struct mend *mend;

	memset(&m, 0, sizeof m);
	return mend_open(kit.kv, &opts, &mend, &kit.err);
}

static void mend(bool dry)
{
	T_OK(mend_start(dry), &kit.err);
	run(&m.over);
	T_CODE(m.err.code, PL_OK, &m.err);
}

/* So many are mended, first only in words, and it is clean then. */
static void mends(unsigned count)
{
	int64_t before = memkv_revision(kit.mem);

	mend(true);
	T_EQ(memkv_revision(kit.mem), before);
	T_EQ(m.count[MEND_WOULD], count);
	mend(false);
	if (m.count[MEND_DONE] != count || m.count[MEND_REFUSED] != 0)
		t_fail(__FILE__, __LINE__, "%u of %u mended: %s", m.count[MEND_DONE],
		       count, m.why);
	clean();
	down();
}

static void mends_not(void)
{
	mend(false);
	T_EQ(m.count[MEND_DONE], 0);
	down();
}

/* -- one by one -------------------------------------------------------------------- */

T_CASE(a_store_that_is_right_is_clean)
{
	const struct fsck_counts *counts;

	up();
	clean();
	counts = fsck_core_counts(fsck_core(fsck));
	T_EQ(counts->nodes, 3);
	T_EQ(counts->allocs, 3);
	T_EQ(counts->pods, 4);
	T_EQ(counts->bound, 3);
	T_EQ(counts->pointers, 1);
	T_TRUE(r.pages > 4);
	mend(false);
	T_EQ(m.count[MEND_DONE] + m.count[MEND_RIGHT] + m.count[MEND_REFUSED], 0);
	/* Nothing is left of the pin. */
	T_EQ(kit_get_at(&kit, kv_prefix(PL_SPAN_LIT("/pins/")), 0), PL_OK);
	T_EQ(kit.result.get.count, 0);
	down();
}

T_CASE(key_garbled)
{
	up();
	(void)kit_put(&kit, "/nodes/7/east/n", "{}");
	(void)kit_put(&kit, "/schedules/0001/web/a/what", "{}");
	finds(FSCK_KEY_GARBLED, 2);
	mends_not();
}

/* Before, behind and between the partitions: each is read, and once. */
T_CASE(keys_that_are_in_no_partition)
{
	static const char *const keys[] = {
		"/alloc/!",        "/alloc/0003",        "/alloc/0003!", "/alloc/0004/",
		"/alloc/0007~",    "/alloc/9999/east/n", "/alloc/~",     "/nodes/~",
		"/schedules/0000", "/schedules/0008"};
	enum { KEYS = sizeof keys / sizeof keys[0] };
	uint64_t had;

	up();
	check();
	had = fsck_core_counts(fsck_core(fsck))->records;
	for (unsigned i = 0; i < KEYS; i++)
		(void)kit_put(&kit, keys[i], "{}");
	finds(FSCK_KEY_GARBLED, KEYS);
	T_EQ(fsck_core_counts(fsck_core(fsck))->records, had + KEYS);
	mends_not();
}

T_CASE(node_garbled)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_NODE, "n-0"), "{\"metadata\":7}");
	finds(FSCK_NODE_GARBLED, 1);
	mends_not();
}

T_CASE(node_and_alloc_in_another_partition)
{
	uint32_t other = (node_partition("n-9") + 1) % PARTITIONS;

	up();
	(void)kit_put(&kit, key_in(KEYS_NODE, other, "east", "n-9"), "{}");
	finds(FSCK_NODE_PARTITION, 1);
	drop(key_in(KEYS_NODE, other, "east", "n-9"));
	(void)kit_put(&kit, key_in(KEYS_ALLOC, other, "east", "n-9"), "{}");
	finds(FSCK_ALLOC_PARTITION, 1);
	mends_not();
}

T_CASE(node_without_alloc_with_pods)
{
	up();
	drop(node_key(KEYS_ALLOC, "n-0"));
	finds(FSCK_NODE_NO_ALLOC, 1);
	mends(1);
}

T_CASE(nodes_without_alloc)
{
	struct alloc alloc;

	up();
	drop(node_key(KEYS_ALLOC, "n-2"));
	finds(FSCK_NODE_NO_ALLOC, 1);
	mend(false);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-2"))), 0),
	     PL_OK);
	T_OK(alloc_parse(kit.result.get.records[0].value, &kit.arena, &alloc, &kit.err),
	     &kit.err);
	/* Above any that it may have had. */
	T_EQ(alloc.generation, r.revision);
	clean();
	down();
}

T_CASE(alloc_garbled)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-0"), "{\"v\":1,\"pods\":[]}");
	finds(FSCK_ALLOC_GARBLED, 1);
	mends(1);
}

T_CASE(alloc_without_node)
{
	up();
	drop(node_key(KEYS_NODE, "n-2"));
	finds(FSCK_ALLOC_NO_NODE, 1);
	mends_not();
}

T_CASE(alloc_sum)
{
	static const char *const used[] = {
		"\"cpu\":\"499m\",\"memory\":\"67108864\",\"pods\":\"1\"",
		"\"cpu\":\"500m\",\"memory\":\"67108865\",\"pods\":\"1\"",
		"\"cpu\":\"500m\",\"memory\":\"67108864\",\"pods\":\"2\"",
		"\"cpu\":\"500m\",\"memory\":\"67108864\",\"pods\":\"1\","
		"\"ephemeral-storage\":\"1\"",
		"\"cpu\":\"500m\",\"memory\":\"67108864\",\"pods\":\"1\","
		"\"example.com/gpu\":\"1\"",
	};
	char json[TEXT_SIZE];

	for (unsigned i = 0; i <= sizeof used / sizeof used[0]; i++) {
		bool ports = i == sizeof used / sizeof used[0];

		up();
		(void)snprintf(json, sizeof json,
		               "{\"v\":1,\"generation\":5,\"used\":{%s},%s\"pods\":{%s}}",
		               ports ? "\"cpu\":\"500m\",\"memory\":\"67108864\","
		                       "\"pods\":\"1\""
		                     : used[i],
		               ports ? "\"ports\":[\"TCP/0.0.0.0/80\"]," : "",
		               leaving(listed("db", gang_pod(), gang_home())));
		(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"), json);
		finds(FSCK_ALLOC_SUM, 1);
		mends(1);
	}
}

/* Host ports, other resources, requests that are none, an end that takes no room. */
T_CASE(pods_of_other_kinds)
{
	static const char spec[] =
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"c\"},\"spec\":{"
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":[{"
		"\"containerPort\":80,\"hostPort\":80},{\"containerPort\":53,"
		"\"hostPort\":53,\"protocol\":\"UDP\",\"hostIP\":\"10.0.0.1\"}],"
		"\"resources\":{\"limits\":{\"example.com/gpu\":\"1\"}}}]}}";

	up();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "c"), spec);
	put_state("web", "c", state_of("Bound", "n-2", "1"));
	finds(FSCK_STATE_UNLISTED, 1);
	mend(false);
	T_EQ(m.count[MEND_DONE], 1);
	clean();
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-2"))), 0),
	     PL_OK);
	T_TRUE(strstr(kit_show(&kit),
	              "\"used\":{\"pods\":\"1\",\"example.com/gpu\":\"1\"},\"nonzero\":{"
	              "\"cpu\":\"100m\",\"memory\":\"209715200\"},\"ports\":["
	              "\"TCP/0.0.0.0/80\",\"UDP/10.0.0.1/53\"],") != NULL);
	put_state("web", "c", state_of("Failed", "n-2", "1"));
	finds(FSCK_ALLOC_POD_NOT_BOUND, 1);
	mends(1);
}

T_CASE(holds_count_and_stay)
{
	struct alloc alloc;

	up();
	(void)kit_put(
		&kit, node_key(KEYS_ALLOC, "n-2"),
		"{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"1000m\"},\"holds\":[{"
		"\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"t\",\"used\":{"
		"\"cpu\":\"1000m\"},\"until\":\"2026-11-21T09:00:00.000Z\"}]}");
	clean();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"900m\"},\"holds\":[{"
	              "\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"t\",\"used\":{"
	              "\"cpu\":\"1000m\"},\"until\":\"2026-11-21T09:00:00.000Z\"}]}");
	finds(FSCK_ALLOC_SUM, 1);
	mend(false);
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(node_key(KEYS_ALLOC, "n-2"))), 0),
	     PL_OK);
	T_OK(alloc_parse(kit.result.get.records[0].value, &kit.arena, &alloc, &kit.err),
	     &kit.err);
	T_EQ(alloc.holds, 1);
	T_EQ(alloc.generation, 6);
	T_EQ(alloc.used.cpu_milli, 1000);
	clean();
	down();
}

T_CASE(alloc_lists_a_pod_that_is_not_there)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              alloc_of(1, listed("web", "x", pod_partition("web", "x"))));
	finds(FSCK_ALLOC_POD_UNKNOWN, 1);
	mends(1);
}

T_CASE(alloc_lists_a_pod_that_is_not_bound)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              alloc_of(1, listed("web", "c", pod_partition("web", "c"))));
	finds(FSCK_ALLOC_POD_NOT_BOUND, 1);
	put_state("web", "c", state_of("Pending", NULL, "1"));
	finds(FSCK_ALLOC_POD_NOT_BOUND, 1);
	put_state("web", "c", state_of("Succeeded", "n-2", "1"));
	finds(FSCK_ALLOC_POD_NOT_BOUND, 1);
	mends(1);
}

T_CASE(a_pod_is_listed_twice)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              alloc_of(1, listed("web", "a", pod_partition("web", "a"))));
	check();
	T_EQ(r.found[FSCK_ALLOC_POD_TWICE], 1);
	T_EQ(r.found[FSCK_ALLOC_POD_NOT_BOUND], 1);
	T_EQ(r.total, 2);
	mends(1);
}

T_CASE(who_terminates_is_marked_and_nobody_else)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"),
	              alloc_of(1, listed("db", gang_pod(), gang_home())));
	finds(FSCK_ALLOC_LEAVING, 1);
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"),
	              alloc_of(1, leaving(listed("db", gang_pod(), gang_home()))));
	clean();
	(void)kit_put(&kit, key_in(KEYS_STATE, gang_home(), "db", gang_pod()),
	              state_of("Bound", "n-1", "1"));
	finds(FSCK_ALLOC_LEAVING, 1);
	mends(1);
}

T_CASE(a_node_became_smaller)
{
	up();
	put_node("n-0", 0);
	finds(FSCK_NODE_OVER, 1);
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	T_EQ(fsck_core_counts(fsck_core(fsck))->conditions, 1);
	/* One that is there is asked to move. */
	put_state(
		"web", "b",
		"{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"ask\":\"evict\",\"cluster\":"
		"\"east\",\"node\":\"n-0\",\"shard\":\"east-0\",\"epoch\":\"1\","
		"\"since\":\"2026-11-21T09:00:00.000Z\"}");
	finds(FSCK_NODE_OVER, 1);
	/* And then a shard placed there. */
	put_state("web", "b", state_of("Bound", "n-0", "1"));
	finds(FSCK_ALLOC_OVER, 1);
	mends_not();
}

T_CASE(other_resources_are_not_over_either)
{
	up();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              "{\"v\":1,\"generation\":5,\"used\":{\"example.com/gpu\":\"2\"},"
	              "\"holds\":[{\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"t\","
	              "\"used\":{\"example.com/gpu\":\"2\"},"
	              "\"until\":\"2026-11-21T09:00:00.000Z\"}]}");
	clean();
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
	              "{\"v\":1,\"generation\":5,\"used\":{\"example.com/gpu\":\"3\"},"
	              "\"holds\":[{\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"t\","
	              "\"used\":{\"example.com/gpu\":\"3\"},"
	              "\"until\":\"2026-11-21T09:00:00.000Z\"}]}");
	finds(FSCK_NODE_OVER, 1);
	down();
}

/* On n-1: more than it has, together with who terminates there. */
static void put_hold(bool leaving, const char *kind)
{
	const char *pod = listed("db", gang_pod(), gang_home());
	char json[TEXT_SIZE], leaves[200] = "";

	if (leaving)
		(void)snprintf(leaves, sizeof leaves, "\"leaving\":{%s},", pod);
	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"4500m\","
	               "\"memory\":\"67108864\",\"pods\":\"2\",\"example.com/gpu\":"
	               "\"3\"},\"pods\":{%s},%s\"holds\":[{\"kind\":%s,\"namespace\":"
	               "\"web\",\"name\":\"c\",\"used\":{\"cpu\":\"4000m\",\"pods\":"
	               "\"1\",\"example.com/gpu\":\"3\"},"
	               "\"until\":\"2026-11-21T09:00:00.000Z\"}]}",
	               pod, leaves, kind);
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"), json);
}

T_CASE(what_is_nominated_may_wait_for_pods_that_leave)
{
	up();
	put_hold(true, "\"nominated\",\"at\":1");
	clean();
	put_hold(true, "\"gang\"");
	finds(FSCK_NODE_OVER, 1);
	put_hold(false, "\"nominated\",\"at\":1");
	check();
	T_EQ(r.found[FSCK_NODE_OVER], 1);
	T_EQ(r.found[FSCK_ALLOC_LEAVING], 1);
	T_EQ(r.total, 2);
	down();
}

T_CASE(owner_garbled)
{
	up();
	(void)kit_put(&kit, "/partitions/0004/owner", "east");
	finds(FSCK_OWNER_GARBLED, 1);
	mends_not();
}

T_CASE(spec_garbled)
{
	up();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), "{\"metadata\":[]}");
	finds(FSCK_SPEC_GARBLED, 1);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), spec_of("web", "z", ""));
	finds(FSCK_SPEC_GARBLED, 1);
	mends_not();
}

/* What can not be derived is not guessed. */
T_CASE(an_alloc_of_a_pod_that_makes_no_sense_is_left)
{
	up();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", "a"), "{\"metadata\":[]}");
	drop(node_key(KEYS_ALLOC, "n-0"));
	check();
	T_EQ(r.total, 2);
	mend(false);
	T_EQ(m.count[MEND_REFUSED], 1);
	T_TRUE(strstr(m.why, "spec of web/a") != NULL);
	down();
}

T_CASE(pod_in_another_partition)
{
	uint32_t other = (pod_partition("web", "x") + 1) % PARTITIONS;

	up();
	(void)kit_put(&kit, key_in(KEYS_SPEC, other, "web", "x"),
	              spec_of("web", "x", ""));
	check();
	T_EQ(r.found[FSCK_POD_PARTITION], 1);
	T_EQ(r.found[FSCK_POINTER_MISSING], 1);
	T_EQ(r.total, 2);
	mend(false);
	T_EQ(m.count[MEND_DONE], 0);
	T_TRUE(strstr(m.why, "belongs elsewhere") != NULL);
	down();
}

T_CASE(two_pods_of_one_name)
{
	uint32_t named = pod_partition("db", gang_pod()), other = 0;

	while (other == named || other == gang_home())
		other++;
	up();
	(void)kit_put(&kit, key_in(KEYS_SPEC, other, "db", gang_pod()),
	              spec_of("db", gang_pod(), GANG));
	check();
	T_EQ(r.found[FSCK_POD_TWICE], 1);
	T_EQ(r.found[FSCK_POD_PARTITION], 1);
	mends_not();
}

T_CASE(pointer_that_leads_nowhere)
{
	uint32_t named = pod_partition("web", "p");
	char pointer[100];

	up();
	(void)snprintf(pointer, sizeof pointer, "{\"v\":1,\"at\":%u}",
	               (named + 1) % PARTITIONS);
	(void)kit_put(&kit, key_in(KEYS_SPEC, named, "web", "p"), pointer);
	finds(FSCK_POINTER_NOWHERE, 1);
	mends_not();
}

T_CASE(pointer_that_is_lost_or_leads_astray)
{
	uint32_t astray = 0;
	char pointer[100];

	up();
	drop(pod_key(KEYS_SPEC, "db", gang_pod()));
	finds(FSCK_POINTER_MISSING, 1);
	mends(1);
	up();
	astray = (gang_home() + 1) % PARTITIONS;
	(void)snprintf(pointer, sizeof pointer, "{\"v\":1,\"at\":%u}", astray);
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "db", gang_pod()), pointer);
	check();
	T_EQ(r.found[FSCK_POINTER_MISSING], 1);
	T_EQ(r.found[FSCK_POINTER_NOWHERE], 1);
	mends(1);
}

T_CASE(a_pointer_does_not_take_another_pods_place)
{
	up();
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "db", gang_pod()),
	              spec_of("db", gang_pod(), ""));
	finds(FSCK_POINTER_MISSING, 1);
	mend(false);
	T_EQ(m.count[MEND_REFUSED], 1);
	T_TRUE(strstr(m.why, "another pod has the name") != NULL);
	down();
}

T_CASE(state_garbled)
{
	up();
	put_state("web", "a", "{\"v\":1,\"phase\":\"Lost\"}");
	finds(FSCK_STATE_GARBLED, 1);
	mends_not();
}

T_CASE(state_without_pod)
{
	up();
	put_state("web", "x", state_of("Pending", NULL, "1"));
	finds(FSCK_STATE_NO_SPEC, 1);
	put_state("db", gang_pod(), state_of("Pending", NULL, "1"));
	finds(FSCK_STATE_NO_SPEC, 2);
	mends_not();
}

T_CASE(state_on_a_node_that_is_not_there)
{
	up();
	put_state("web", "c", state_of("Bound", "n-9", "1"));
	finds(FSCK_STATE_NO_NODE, 1);
	mends_not();
}

T_CASE(state_that_no_alloc_lists)
{
	up();
	put_state("web", "c", state_of("Bound", "n-2", "1"));
	finds(FSCK_STATE_UNLISTED, 1);
	mends(1);
}

T_CASE(epochs_that_nobody_had)
{
	char key[100], epoch[32];
	int64_t owner;

	up();
	put_state("web", "c", state_of("Pending", NULL, "999999"));
	finds(FSCK_STATE_EPOCH, 1);
	(void)snprintf(key, sizeof key, "/partitions/%04u/owner",
	               pod_partition("web", "c"));
	(void)kit_delete(&kit, kv_key(pl_span_str(key)));
	owner = kit_put(&kit, key, "{\"v\":1,\"shard\":\"s\"}");
	(void)kit_put(&kit, key, "{\"v\":1,\"shard\":\"s\"}");
	(void)snprintf(epoch, sizeof epoch, "%" PRId64, owner);
	put_state("web", "c", state_of("Pending", NULL, epoch));
	clean();
	/* The partition has had no owner since. */
	(void)snprintf(epoch, sizeof epoch, "%" PRId64, owner + 1);
	put_state("web", "c", state_of("Pending", NULL, epoch));
	finds(FSCK_STATE_EPOCH, 1);
	down();
}

/* -- faults ------------------------------------------------------------------------ */

static void break_much(void)
{
	drop(node_key(KEYS_ALLOC, "n-0"));
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"), "{");
	put_state("web", "c", state_of("Bound", "n-2", "1"));
	drop(pod_key(KEYS_SPEC, "db", gang_pod()));
}

T_CASE(answers_that_are_lost_change_nothing)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .ops = 1u << KV_TXN, .per_mille = 400},
		{.what = FAULTY_APPLY_LATE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 90},
		{.what = FAULTY_REFUSE, .per_mille = 200, .code = PL_UNAVAIL},
	};

	up_over(rules, sizeof rules / sizeof rules[0]);
	break_much();
	faulty_calm(kit.kv, false);
	check();
	mend(false);
	faulty_calm(kit.kv, true);
	T_EQ(m.count[MEND_DONE], 4);
	clean();
	down();
}

/* Somebody mends it, or makes it another thing, between reading and writing. */
T_CASE(what_changed_meanwhile_is_read_again)
{
	static const struct faulty_rule rules[] = {{.what = FAULTY_SLOW_REQUEST,
	                                            .ops = 1u << KV_TXN,
	                                            .per_mille = 1000,
	                                            .delay_min_ms = 10,
	                                            .delay_max_ms = 10}};

	for (uint64_t at = 5; at < 85; at += 10) {
		bool both = at < 45;

		up_over(rules, 1);
		put_state("web", "c", state_of("Bound", "n-2", "1"));
		check();
		faulty_calm(kit.kv, false);
		T_OK(mend_start(false), &kit.err);
		kit_run(&kit, kit.now_ms + at % 40);
		faulty_calm(kit.kv, true);
		put_state("web", "c", state_of("Pending", NULL, "1"));
		if (both)
			(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
			              "{\"v\":1,\"generation\":9}");
		run(&m.over);
		T_CODE(m.err.code, PL_OK, &m.err);
		/* At 35 ms it was mended already. */
		if (both || at % 40 != 35)
			clean();
		down();
	}
}

T_CASE(a_store_that_is_away_ends_it)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_REFUSE, .per_mille = 1000, .code = PL_UNAVAIL}};

	up_over(rules, 1);
	faulty_calm(kit.kv, false);
	T_OK(start(), &kit.err);
	run(&r.over);
	T_TRUE(r.err.code != PL_OK);
	faulty_calm(kit.kv, true);
	down();
}

T_CASE(canceled)
{
	up();
	T_OK(start(), &kit.err);
	fsck_cancel(fsck);
	run(&r.over);
	T_EQ(r.err.code, PL_CANCELED);
	down();
}

T_CASE(without_memory_it_ends)
{
	up();
	break_much();
	for (uint64_t nth = 1;; nth++) {
		enum pl_code code;
		bool fired;

		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = start();
		if (code == PL_OK)
			run(&r.over);
		if (code == PL_OK && r.err.code == PL_OK && mend_start(true) == PL_OK)
			run(&m.over);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		if (code == PL_OK)
			fsck_free(fsck);
		fsck = NULL;
		if (!fired)
			break;
	}
	T_EQ(m.count[MEND_WOULD], 4);
	down();
}
