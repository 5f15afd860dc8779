/*
 * The check over a real etcd whose keys change all the time and whose history is
 * compacted right behind the writers: what it reads is of one revision, and clean.
 */
#include "coord/janitor/janitor.h"
#include "coord/service/fsck/fsck.h"
#include "store/keys/partition.h"
#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"

enum {
	PARTITIONS = 8,
	PAIRS = 150,
	WRITERS = 4,
	KEEP = 50,
	LEASE = 500,
	TEXT_SIZE = 512
};

/* Two nodes, and a pod that moves between them: three keys in each transaction. */
struct pair {
	char node[2][16], pod[16];
	struct keys_text alloc_key[2], state_key;
	bool second; /* the pod is on the second node */
	uint64_t generation;
};

static struct etcd_rig rig;
static struct elect *elect;
static struct janitor *janitor;
static struct pair pair[PAIRS];
static bool leads, elect_stopped, janitor_stopped, over, writing;
static unsigned next, in_flight, moves, held, found;
static int64_t compacted, revision, newest;
static struct pl_err failed;

/* -- keys and values --------------------------------------------------------------- */

static void key_of(enum keys_kind kind, const char *name, struct keys_text *out)
{
	struct keys_id id = {.kind = kind, .name = pl_span_str(name)};
	bool node = kind == KEYS_NODE || kind == KEYS_ALLOC;

	id.scope = node ? PL_SPAN_LIT("east") : PL_SPAN_LIT("web");
	T_OK(node ? partition_of_node(id.scope, id.name, PARTITIONS, &id.partition, NULL)
	          : partition_of_pod(id.scope, id.name, PARTITIONS, &id.partition, NULL),
	     NULL);
	T_OK(keys_build(&id, out, NULL), NULL);
}

static void alloc_text(const struct pair *at, bool has, char out[TEXT_SIZE])
{
	uint32_t partition;

	T_OK(partition_of_pod(PL_SPAN_LIT("web"), pl_span_str(at->pod), PARTITIONS,
	                      &partition, NULL),
	     NULL);
	if (has)
		(void)snprintf(out, TEXT_SIZE,
		               "{\"v\":1,\"generation\":%" PRIu64
		               ",\"used\":{\"cpu\":\"500m\",\"memory\":\"67108864\","
		               "\"pods\":\"1\"},\"pods\":{\"%04u\":{\"web\":[\"%s\"]}}}",
		               at->generation, partition, at->pod);
	else
		(void)snprintf(out, TEXT_SIZE, "{\"v\":1,\"generation\":%" PRIu64 "}",
		               at->generation);
}

static void state_text(const struct pair *at, char out[TEXT_SIZE])
{
	(void)snprintf(
		out, TEXT_SIZE,
		"{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"%s\","
		"\"shard\":\"s\",\"epoch\":\"1\","
		"\"since\":\"2026-11-21T09:00:00.000Z\"}",
		at->node[at->second]);
}

static void put_pair(struct pair *at, unsigned number)
{
	struct keys_text key;
	char text[TEXT_SIZE];

	(void)snprintf(at->pod, sizeof at->pod, "p-%u", number);
	key_of(KEYS_STATE, at->pod, &at->state_key);
	key_of(KEYS_SPEC, at->pod, &key);
	(void)snprintf(text, sizeof text,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\"},\"spec\":{"
	               "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
	               "\"requests\":{\"cpu\":\"500m\",\"memory\":\"64Mi\"}}}]}}",
	               at->pod);
	(void)etcd_rig_put(&rig, key.at, text);
	for (unsigned i = 0; i < 2; i++) {
		(void)snprintf(at->node[i], sizeof at->node[i], "n-%u-%u", number, i);
		key_of(KEYS_ALLOC, at->node[i], &at->alloc_key[i]);
		key_of(KEYS_NODE, at->node[i], &key);
		(void)snprintf(
			text, sizeof text,
			"{\"metadata\":{\"name\":\"%s\"},\"status\":{"
			"\"allocatable\":{\"cpu\":\"1\",\"memory\":\"1Gi\",\"pods\":"
			"\"1\"}}}",
			at->node[i]);
		(void)etcd_rig_put(&rig, key.at, text);
	}
}

/* -- writers ----------------------------------------------------------------------- */

static void on_moved(void *ctx, const struct kv_result *result, const struct pl_err *err);

static void move(void)
{
	struct pair *at = &pair[next++ % PAIRS];
	char text[3][TEXT_SIZE];
	struct kv_req put[3], req = {.op = KV_TXN, .txn = {.then = put, .then_count = 3}};

	at->second = !at->second;
	at->generation++;
	for (unsigned i = 0; i < 2; i++) {
		alloc_text(at, at->second == (i == 1), text[i]);
		put[i] = kv_op_put(keys_span(&at->alloc_key[i]), pl_span_str(text[i]));
	}
	state_text(at, text[2]);
	put[2] = kv_op_put(keys_span(&at->state_key), pl_span_str(text[2]));
	in_flight++;
	T_OK(kv_start(rig.kv, &req, ETCD_RIG_TIMEOUT_MS, on_moved, NULL, NULL, &rig.err),
	     &rig.err);
}

static void on_moved(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)ctx;
	T_TRUE(err == NULL && result->txn.succeeded);
	newest = result->header.revision;
	moves++;
	in_flight--;
	if (writing)
		move();
}

/* -- the janitor ------------------------------------------------------------------- */

static void on_elect(void *ctx, const struct elect_note *note)
{
	(void)ctx;
	leads = leads || note->what == ELECT_LEAD;
	elect_stopped = note->what == ELECT_STOPPED;
}

static void on_janitor(void *ctx, const struct janitor_note *note)
{
	(void)ctx;
	if (note->what == JANITOR_COMPACTED)
		compacted = note->revision;
	held += note->what == JANITOR_HELD;
	janitor_stopped = note->what == JANITOR_STOPPED;
}

static void begin(void)
{
	struct elect_opts opts = {.role = "janitor", .id = PL_SPAN_LIT("s0"), .seed = 3};
	struct kv_req grant = {.op = KV_LEASE_GRANT,
	                       .lease = {.id = LEASE, .ttl_s = 1000}};
	struct kv_req record =
		kv_op_put_leased(PL_SPAN_LIT("/shards/s0"), PL_SPAN_LIT("{}"), LEASE);
	struct config_value value;

	etcd_rig_up(&rig, NULL, NULL);
	T_OK(elect_open(rig.kv, &opts, on_elect, NULL, &elect, NULL), NULL);
	T_OK(etcd_rig_call(&rig, &grant, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
	T_OK(etcd_rig_call(&rig, &record, ETCD_RIG_TIMEOUT_MS, NULL), &rig.err);
	elect_session(elect, LEASE, UINT64_MAX);
	elect_campaign(elect, true, 0);
	etcd_rig_until(&rig, &leads);
	T_OK(janitor_open(rig.kv, elect, 3, on_janitor, NULL, &janitor, NULL), NULL);
	config_default(CONFIG_COORD, &value);
	value.coord.janitor.keep_revisions = KEEP;
	value.coord.janitor.interval_ms = 1000;
	janitor_config(janitor, &value.coord);
	janitor_lead(janitor, true);
}

static void end(void)
{
	janitor_stop(janitor);
	etcd_rig_until(&rig, &janitor_stopped);
	elect_stop(elect, true);
	etcd_rig_until(&rig, &elect_stopped);
	etcd_rig_down(&rig);
}

/* -- checking ---------------------------------------------------------------------- */

static void on_found(void *ctx, const struct fsck_finding *finding)
{
	(void)ctx;
	found++;
	t_fail(__FILE__, __LINE__, "%s " PL_SPAN_FMT ": %s",
	       fsck_code_word(finding->code), PL_SPAN_ARG(finding->key), finding->what);
}

static void on_done(void *ctx, int64_t at, const struct pl_err *err)
{
	(void)ctx;
	over = true;
	revision = at;
	if (err != NULL)
		failed = *err;
}

static void check(uint64_t seed)
{
	struct fsck_opts opts = {.partitions = PARTITIONS,
	                         .by = PL_SPAN_LIT("test"),
	                         .wall_ms = 1000,
	                         .seed = seed,
	                         .page_keys = 2,
	                         .found = on_found,
	                         .done = on_done};
	struct fsck *fsck;

	over = false;
	T_OK(fsck_open(rig.kv, &opts, &fsck, &rig.err), &rig.err);
	etcd_rig_until(&rig, &over);
	T_CODE(failed.code, PL_OK, &failed);
	T_EQ(fsck_core_counts(fsck_core(fsck))->bound, PAIRS);
	T_EQ(fsck_core_counts(fsck_core(fsck))->nodes, 2 * PAIRS);
	fsck_free(fsck);
}

T_CASE_SECONDS(a_store_that_changes_and_is_compacted_all_the_time, 100)
{
	int64_t first;

	begin();
	for (unsigned i = 0; i < PAIRS; i++)
		put_pair(&pair[i], i);
	(void)etcd_rig_put(&rig, "/groups/nodes", "{\"v\":1}");
	for (unsigned i = 0; i < PAIRS; i++)
		move();
	while (in_flight > 0)
		etcd_rig_run_ms(&rig, 1);
	writing = true;
	for (unsigned i = 0; i < WRITERS; i++)
		move();
	check(1);
	first = revision;
	/* Until a check was in the janitor's way, and what the first one has read is
	 * compacted. */
	for (uint64_t seed = 2; held == 0 || compacted <= first; seed++)
		check(seed);
	T_TRUE(newest > revision); /* the writers went on meanwhile */
	writing = false;
	while (in_flight > 0)
		etcd_rig_run_ms(&rig, 1);
	T_EQ(found, 0);
	T_TRUE(moves > 2 * PAIRS);
	end();
}
