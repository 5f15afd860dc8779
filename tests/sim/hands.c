/*
 * Operators: what placet's commands do, and what people do with etcdctl when
 * they should not. They stand beside the store, so no fault delays them.
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

struct hands {
	struct world *world;
	int64_t pins;
	uint64_t incarnations;
	bool found;
	int64_t lease;
	char text[TEXT_SIZE];
};

struct hands *hands_new(struct world *world)
{
	struct hands *hands = pl_calloc(1, sizeof *hands);

	PL_ASSERT(hands != NULL);
	hands->world = world;
	return hands;
}

void hands_free(struct hands *hands)
{
	free(hands);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct hands *hands = ctx;

	(void)err; /* a lease that is gone, say */
	hands->found = false;
	if (result == NULL || result->op != KV_GET || result->get.count == 0)
		return;
	hands->found = true;
	hands->lease = result->get.records[0].lease;
	(void)snprintf(hands->text, sizeof hands->text, PL_SPAN_FMT,
	               PL_SPAN_ARG(result->get.records[0].value));
}

/* At once, and known to be by hand. */
static void call(struct hands *hands, const struct kv_req *req)
{
	struct world *world = hands->world;

	depot_run(&world->depot);
	if (kv_start(world->truth.kv, req, CALL_MS, on_done, hands, NULL, NULL) != PL_OK)
		return;
	world->by_hand = true;
	depot_run(&world->depot);
	world->by_hand = false;
	world_touch(world);
}

static void put(struct hands *hands, const char *key, const char *value, int64_t lease)
{
	struct kv_req req = kv_op_put_leased(pl_span_str(key), pl_span_str(value), lease);

	call(hands, &req);
}

/* -- configuration ------------------------------------------------------- */

static void on_edited(void *ctx, uint64_t version, const struct pl_err *err)
{
	struct hands *hands = ctx;

	STORY(&hands->world->story, "hands", "version %" PRIu64 " %s", version,
	      err == NULL ? "stands" : err->msg);
}

static void edit(struct hands *hands, enum config_name name, const char *json)
{
	struct world *world = hands->world;
	struct config_edit_opts opts = {.name = name,
	                                .config = pl_span_str(json),
	                                .by = PL_SPAN_LIT("hands"),
	                                .why = PL_SPAN_LIT("the plan says so"),
	                                .at_ms = (int64_t)world->wall_ms,
	                                .expect_version = -1,
	                                .timeout_ms = CALL_MS,
	                                .seed = pl_rng_next(&world->rng) | 1};
	struct pl_err err = {0};

	STORY(&world->story, "hands", "set configuration %s to %s",
	      config_name_text(name), json);
	world_hit(world, COVER_CONFIG_GOOD);
	world_touch(world);
	if (config_edit_start(world->truth.kv, &opts, on_edited, hands, NULL, &err) !=
	    PL_OK)
		check_fail(world, "config", "a good one is refused: %s", err.msg);
}

static uint64_t any(struct hands *hands, uint64_t low, uint64_t high)
{
	return low + world_below(hands->world, high - low + 1);
}

/* Other profiles, another order, other bounds. */
static void set_scheduler(struct hands *hands)
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

	edit(hands, CONFIG_SCHEDULER,
	     some[any(hands, 0, sizeof some / sizeof some[0] - 1)]);
}

void hands_config(struct hands *hands)
{
	char json[TEXT_SIZE];
	bool janitor;

	if (world_chance(hands->world, 1, 3)) {
		set_scheduler(hands);
		return;
	}
	janitor = world_chance(hands->world, 3, 4);
	(void)snprintf(json, sizeof json,
	               "{\"refresh_ms\":1000,\"handover_ms\":%" PRIu64
	               ",\"settle_ms\":%" PRIu64
	               ",\"balancer\":{\"enabled\":%s,\"interval_ms\":%" PRIu64
	               "},\"janitor\":{\"enabled\":%s,\"interval_ms\":%" PRIu64
	               ",\"keep_revisions\":%" PRIu64 "}}",
	               any(hands, 200, 3000), any(hands, 0, 2000),
	               world_chance(hands->world, 3, 4) ? "true" : "false",
	               any(hands, 1000, 8000), janitor ? "true" : "false",
	               any(hands, 1000, 8000), any(hands, 1000, 2000));
	edit(hands, CONFIG_COORD, json);
}

void hands_no_balancer(struct hands *hands)
{
	edit(hands, CONFIG_COORD, "{\"balancer\":{\"enabled\":false}}");
}

/* Past the check: a version that no shard may apply. */
void hands_config_bad(struct hands *hands)
{
#define RECORD(config)                                                                \
	"{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"hands\",\"why\":\"\"," \
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
	struct world *world = hands->world;
	struct keys_id id = {.kind = KEYS_CONFIG, .name = PL_SPAN_LIT("coord")};
	struct keys_text key;
	char current[64];

	id.version = world->truth.config[CONFIG_COORD] + 1;
	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	world_hit(world, COVER_CONFIG_BAD);
	STORY(&world->story, "hands", "write a bad version %" PRIu64 " of coord",
	      id.version);
	world->bad_version = id.version;
	put(hands, key.at, bad[any(hands, 0, sizeof bad / sizeof bad[0] - 1)], 0);
	(void)snprintf(current, sizeof current, "{\"v\":1,\"version\":%" PRIu64 "}",
	               id.version);
	put(hands, "/config/coord/current", current, 0);
}

static void set_drain(struct hands *hands)
{
	char json[64] = "{\"drain\":[]}";

	if (hands->world->drained != 0)
		(void)snprintf(json, sizeof json, "{\"drain\":[\"s%u\"]}",
		               hands->world->drained - 1);
	edit(hands, CONFIG_SHARDS, json);
}

void hands_drain(struct hands *hands)
{
	struct proc *proc = proc_any(hands->world);

	if (hands->world->drained == 0 && (proc == NULL || proc_active(hands->world) < 3))
		return;
	world_hit(hands->world, COVER_DRAIN);
	hands->world->drained = hands->world->drained == 0 ? proc->id + 1 : 0;
	set_drain(hands);
}

/* -- shards, owners, pins ------------------------------------------------ */

void hands_evict(struct hands *hands)
{
	struct world *world = hands->world;
	const struct proc *proc = proc_any(world);
	const struct truth_member *member;

	if (proc == NULL)
		return;
	member = &world->truth.member[proc->id];
	if (!member->exists)
		return;
	world_hit(world, COVER_EVICT);
	STORY(&world->story, "hands", "evict %s", proc->id_text);
	PROC_EACH (other, world)
		if (other->lease == member->lease)
			other->robbed_lease = member->lease;
	call(hands,
	     &(struct kv_req){.op = KV_LEASE_REVOKE, .lease = {.id = member->lease}});
}

static uint32_t pick_owner(struct hands *hands, char key[64])
{
	uint32_t partition =
		(uint32_t)world_below(hands->world, hands->world->truth.partitions);

	(void)snprintf(key, 64, "/partitions/%04u/owner", partition);
	return partition;
}

static void delete_key(struct hands *hands, const char *key)
{
	struct kv_req req = kv_op_delete(kv_key(pl_span_str(key)));

	call(hands, &req);
}

void hands_delete_owner(struct hands *hands)
{
	char key[64];

	(void)pick_owner(hands, key);
	world_hit(hands->world, COVER_HAND_DELETE);
	STORY(&hands->world->story, "hands", "delete %s", key);
	delete_key(hands, key);
}

void hands_garble_owner(struct hands *hands)
{
	static const char *const values[] = {"", "{", "{\"v\":1}",
	                                     "{\"v\":1,\"shard\":7}",
	                                     "{\"v\":1,\"shard\":\"s0\"}"};
	char key[64];
	uint32_t partition = pick_owner(hands, key);
	const struct truth_owner *owner = &hands->world->truth.owner[partition];
	const char *value = values[any(hands, 0, sizeof values / sizeof values[0] - 1)];
	bool keep = owner->exists && world_chance(hands->world, 1, 2);

	world_hit(hands->world, COVER_HAND_GARBLE);
	STORY(&hands->world->story, "hands", "write '%s' to %s%s", value, key,
	      keep ? ", with its lease" : "");
	put(hands, key, value, keep ? owner->lease : 0);
}

void hands_pin(struct hands *hands)
{
	struct world *world = hands->world;
	int64_t lease = PIN_LEASE + ++hands->pins;
	char key[64];

	world_hit(world, COVER_PIN);
	STORY(&world->story, "hands", "pin revision %" PRId64,
	      memkv_revision(world->depot.mem));
	call(hands, &(struct kv_req){
			    .op = KV_LEASE_GRANT,
			    .lease = {.id = lease, .ttl_s = (int64_t)any(hands, 5, 30)}});
	(void)snprintf(key, sizeof key, "/pins/p%" PRId64, hands->pins);
	put(hands, key,
	    "{\"v\":1,\"by\":\"hands\",\"why\":\"to look\","
	    "\"until\":\"2030-01-01T00:00:00.000Z\"}",
	    lease);
}

void hands_incarnation(struct hands *hands)
{
	struct kv_req req = kv_op_get(kv_key(PL_SPAN_LIT("/placet/meta")));
	char digits[33];
	char *at;

	call(hands, &req);
	at = hands->found ? strstr(hands->text, "\"incarnation\":\"") : NULL;
	if (at == NULL)
		return;
	world_hit(hands->world, COVER_INCARNATION);
	(void)snprintf(digits, sizeof digits, "%032" PRIx64, ++hands->incarnations);
	memcpy(at + strlen("\"incarnation\":\""), digits, 32);
	STORY(&hands->world->story, "hands",
	      "tell everybody that the store was restored");
	put(hands, "/placet/meta", hands->text, 0);
}

void hands_calm(struct hands *hands)
{
	struct world *world = hands->world;
	char key[64], json[TEXT_SIZE];

	for (uint32_t p = 0; p < world->truth.partitions; p++) {
		(void)snprintf(key, sizeof key, "/partitions/%04u/owner", p);
		if (world->handmade[p])
			delete_key(hands, key);
	}
	hands->world->drained = 0;
	set_drain(hands);
	(void)snprintf(json, sizeof json,
	               "{\"refresh_ms\":%" PRIu64
	               ",\"handover_ms\":1000,\"settle_ms\":300,"
	               "\"balancer\":{\"interval_ms\":2000},"
	               "\"janitor\":{\"interval_ms\":2000}}",
	               world->plan.refresh_ms);
	edit(hands, CONFIG_COORD, json);
}
