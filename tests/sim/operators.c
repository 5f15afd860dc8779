/*
 * Operators: the work of placet's commands, and manual edits with etcdctl. Their requests
 * go straight to the store, so no fault delays them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/config/config_edit.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/proc.h"

enum { CALL_MS = 1000, TEXT_SIZE = 1024, PIN_LEASE = 1000000 };

struct operators {
	struct world *world;
	int64_t pins;
	uint64_t incarnations;
	bool found;
	int64_t lease;
	char text[TEXT_SIZE];
};

struct operators *operators_new(struct world *world)
{
	struct operators *operators = pl_calloc(1, sizeof *operators);

	PL_ASSERT(operators != NULL);
	operators->world = world;
	return operators;
}

void operators_free(struct operators *operators)
{
	free(operators);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct operators *operators = ctx;

	(void)err; /* a lease that is gone, for example */
	operators->found = false;
	if (result == NULL || result->op != KV_GET || result->get.count == 0)
		return;
	operators->found = true;
	operators->lease = result->get.records[0].lease;
	(void)snprintf(operators->text, sizeof operators->text, PL_SPAN_FMT,
	               PL_SPAN_ARG(result->get.records[0].value));
}

/* Runs the request at once, marked as an operator's. */
static void call_store(struct operators *operators, const struct kv_req *req)
{
	struct world *world = operators->world;

	simstore_run(&world->store);
	if (kv_start(world->truth.kv, req, CALL_MS, on_done, operators, NULL, NULL) !=
	    PL_OK)
		return;
	world->by_operator = true;
	simstore_run(&world->store);
	world->by_operator = false;
	world_touch(world);
}

static void put_key(struct operators *operators, const char *key, const char *value,
                    int64_t lease)
{
	struct kv_req req = kv_op_put_leased(pl_span_str(key), pl_span_str(value), lease);

	call_store(operators, &req);
}

/* -- configuration ------------------------------------------------------- */

static void on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	struct operators *operators = ctx;

	STORY(&operators->world->story, "operators", "version %" PRIu64 " %s", version,
	      err == NULL ? "stands" : err->msg);
}

static void edit_config(struct operators *operators, enum config_name name,
                        const char *json)
{
	struct world *world = operators->world;
	struct config_edit_opts opts = {.name = name,
	                                .config = pl_span_str(json),
	                                .by = PL_SPAN_LIT("operators"),
	                                .why = PL_SPAN_LIT("the plan says so"),
	                                .at_ms = (int64_t)world->wall_ms,
	                                .expect_version = -1,
	                                .timeout_ms = CALL_MS,
	                                .seed = pl_rng_next(&world->rng) | 1};
	struct pl_err err = {0};

	STORY(&world->story, "operators", "set configuration %s to %s",
	      config_name_text(name), json);
	world_hit(world, COVER_CONFIG_GOOD);
	world_touch(world);
	if (config_edit_start(world->truth.kv, &opts, on_edited, operators, NULL, &err) !=
	    PL_OK)
		check_fail(world, "config", "a good one is refused: %s", err.msg);
}

static uint64_t random_between(struct operators *operators, uint64_t low, uint64_t high)
{
	return low + world_below(operators->world, high - low + 1);
}

/* Other profiles, another order, other bounds. */
static void set_scheduler(struct operators *operators)
{
	static const char *const some[] = {
		"{\"profiles\":[{\"pluginConfig\":[{\"name\":\"NodeResourcesFit\","
		"\"args\":{\"scoringStrategy\":{\"type\":\"MostAllocated\"}}}]}]}",
		"{\"queue\":{\"sort\":\"sla\",\"fair\":true},\"shard\":{\"batch\":2,"
		"\"inflight\":1}}",
		"{\"profiles\":[{\"schedulerName\":\"default-scheduler\"},"
		"{\"schedulerName\":\"night\"}],\"shard\":{\"inflight\":16}}",
		"{}",
	};

	edit_config(operators, CONFIG_SCHEDULER,
	            some[random_between(operators, 0, sizeof some / sizeof some[0] - 1)]);
}

void operators_config(struct operators *operators)
{
	char json[TEXT_SIZE];
	bool janitor;

	if (world_chance(operators->world, 1, 3)) {
		set_scheduler(operators);
		return;
	}
	janitor = world_chance(operators->world, 3, 4);
	(void)snprintf(
		json, sizeof json,
		"{\"refresh_ms\":1000,\"handover_ms\":%" PRIu64 ",\"settle_ms\":%" PRIu64
		",\"balancer\":{\"enabled\":%s,\"interval_ms\":%" PRIu64
		"},\"janitor\":{\"enabled\":%s,\"interval_ms\":%" PRIu64
		",\"keep_revisions\":%" PRIu64 "}}",
		random_between(operators, 200, 3000), random_between(operators, 0, 2000),
		world_chance(operators->world, 3, 4) ? "true" : "false",
		random_between(operators, 1000, 8000), janitor ? "true" : "false",
		random_between(operators, 1000, 8000),
		random_between(operators, 1000, 2000));
	edit_config(operators, CONFIG_COORD, json);
}

void operators_no_balancer(struct operators *operators)
{
	edit_config(operators, CONFIG_COORD, "{\"balancer\":{\"enabled\":false}}");
}

/* Writes a version that the check would refuse, and that no shard may apply. */
void operators_config_bad(struct operators *operators)
{
#define RECORD(config)                                                                    \
	"{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"operators\",\"why\":\"\"," \
	"\"config\":" config "}"
	static const char *const bad[] = {
		RECORD("{\"handover_ms\":-1}"),
		RECORD("{\"handover\":100}"),
		RECORD("{\"settle_ms\":\"soon\"}"),
		RECORD("[]"),
		"{\"v\":1,\"config\":{\"handover_ms\":100}}",
		"{\"v\":7}",
		"not json",
	};
#undef RECORD
	struct world *world = operators->world;
	struct keys_id id = {.kind = KEYS_CONFIG, .name = PL_SPAN_LIT("coord")};
	struct keys_text key;
	char current[64];

	id.version = world->truth.config[CONFIG_COORD] + 1;
	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	world_hit(world, COVER_CONFIG_BAD);
	STORY(&world->story, "operators", "write a bad version %" PRIu64 " of coord",
	      id.version);
	world->bad_version = id.version;
	put_key(operators, key.at,
	        bad[random_between(operators, 0, sizeof bad / sizeof bad[0] - 1)], 0);
	(void)snprintf(current, sizeof current, "{\"v\":1,\"version\":%" PRIu64 "}",
	               id.version);
	put_key(operators, "/config/coord/current", current, 0);
}

static void set_drain(struct operators *operators)
{
	char json[64] = "{\"drain\":[]}";

	if (operators->world->drained != 0)
		(void)snprintf(json, sizeof json, "{\"drain\":[\"s%u\"]}",
		               operators->world->drained - 1);
	edit_config(operators, CONFIG_SHARDS, json);
}

void operators_drain(struct operators *operators)
{
	struct proc *proc = proc_any(operators->world);

	if (operators->world->drained == 0 &&
	    (proc == NULL || proc_active(operators->world) < 3))
		return;
	world_hit(operators->world, COVER_DRAIN);
	operators->world->drained = operators->world->drained == 0 ? proc->id + 1 : 0;
	set_drain(operators);
}

/* -- shards, owners, pins ------------------------------------------------ */

void operators_evict(struct operators *operators)
{
	struct world *world = operators->world;
	const struct proc *proc = proc_any(world);
	const struct truth_member *member;

	if (proc == NULL)
		return;
	member = &world->truth.member[proc->id];
	if (!member->exists)
		return;
	world_hit(world, COVER_EVICT);
	STORY(&world->story, "operators", "evict %s", proc->id_text);
	PROC_EACH (other, world)
		if (other->lease == member->lease)
			other->revoked_lease = member->lease;
	call_store(operators, &(struct kv_req){.op = KV_LEASE_REVOKE,
	                                       .lease = {.id = member->lease}});
}

static uint32_t pick_owner(struct operators *operators, char key[64])
{
	uint32_t partition = (uint32_t)world_below(operators->world,
	                                           operators->world->truth.partitions);

	(void)snprintf(key, 64, "/partitions/%04u/owner", partition);
	return partition;
}

static void delete_key(struct operators *operators, const char *key)
{
	struct kv_req req = kv_op_delete(kv_key(pl_span_str(key)));

	call_store(operators, &req);
}

void operators_delete_owner(struct operators *operators)
{
	char key[64];

	(void)pick_owner(operators, key);
	world_hit(operators->world, COVER_MANUAL_DELETE);
	STORY(&operators->world->story, "operators", "delete %s", key);
	delete_key(operators, key);
}

void operators_corrupt_owner(struct operators *operators)
{
	static const char *const values[] = {"", "{", "{\"v\":1}",
	                                     "{\"v\":1,\"shard\":7}",
	                                     "{\"v\":1,\"shard\":\"s0\"}"};
	char key[64];
	uint32_t partition = pick_owner(operators, key);
	const struct truth_owner *owner = &operators->world->truth.owner[partition];
	const char *value = values[random_between(operators, 0,
	                                          sizeof values / sizeof values[0] - 1)];
	bool keep = owner->exists && world_chance(operators->world, 1, 2);

	world_hit(operators->world, COVER_MANUAL_CORRUPT);
	STORY(&operators->world->story, "operators", "write '%s' to %s%s", value, key,
	      keep ? ", with its lease" : "");
	put_key(operators, key, value, keep ? owner->lease : 0);
}

void operators_pin(struct operators *operators)
{
	struct world *world = operators->world;
	int64_t lease = PIN_LEASE + ++operators->pins;
	char key[64];

	world_hit(world, COVER_PIN);
	STORY(&world->story, "operators", "pin revision %" PRId64,
	      memkv_revision(world->store.mem));
	call_store(operators, &(struct kv_req){.op = KV_LEASE_GRANT,
	                                       .lease = {.id = lease,
	                                                 .ttl_s = (int64_t)random_between(
								 operators, 5, 30)}});
	(void)snprintf(key, sizeof key, "/pins/p%" PRId64, operators->pins);
	put_key(operators, key,
	        "{\"v\":1,\"by\":\"operators\",\"why\":\"to look\","
	        "\"until\":\"2030-01-01T00:00:00.000Z\"}",
	        lease);
}

void operators_incarnation(struct operators *operators)
{
	struct kv_req req = kv_op_get(kv_key(PL_SPAN_LIT("/placet/meta")));
	char digits[33];
	char *at;

	call_store(operators, &req);
	at = operators->found ? strstr(operators->text, "\"incarnation\":\"") : NULL;
	if (at == NULL)
		return;
	world_hit(operators->world, COVER_INCARNATION);
	(void)snprintf(digits, sizeof digits, "%032" PRIx64, ++operators->incarnations);
	memcpy(at + strlen("\"incarnation\":\""), digits, 32);
	STORY(&operators->world->story, "operators",
	      "announce that the store was restored");
	put_key(operators, "/placet/meta", operators->text, 0);
}

void operators_recover(struct operators *operators)
{
	struct world *world = operators->world;
	char key[64], json[TEXT_SIZE];

	for (uint32_t p = 0; p < world->truth.partitions; p++) {
		(void)snprintf(key, sizeof key, "/partitions/%04u/owner", p);
		if (world->manual_owner[p])
			delete_key(operators, key);
	}
	operators->world->drained = 0;
	set_drain(operators);
	(void)snprintf(json, sizeof json,
	               "{\"refresh_ms\":%" PRIu64
	               ",\"handover_ms\":1000,\"settle_ms\":300,"
	               "\"balancer\":{\"interval_ms\":2000},"
	               "\"janitor\":{\"interval_ms\":2000}}",
	               world->plan.refresh_ms);
	edit_config(operators, CONFIG_COORD, json);
}
