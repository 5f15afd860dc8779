/*
 * Disruption budgets that users make, change and delete, as placet submit and placet
 * delete do it: the counts stay, and the fields that follow from them are computed again;
 * each transaction compares the values that it was made from.
 */
#include <inttypes.h>

#include "store/kv/calls.h"
#include "tests/sim/client_int.h"

enum { EDIT_MS = 2000, VALUE_SIZE = 16384, NOTE_SIZE = 64 };

static void on_edited(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct client *client = ctx;

	client->budgeting = false;
	if (err != NULL || !result->txn.succeeded)
		return;
	world_hit(client->world, client->budget_hit);
	STORY(&client->world->story, "client", "b-%u %s", client->budget,
	      client->budget_hit == COVER_BUDGET_MADE      ? "is made"
	      : client->budget_hit == COVER_BUDGET_CHANGED ? "is changed"
	                                                   : "is deleted");
}

/* The lock tells shards whether a budget was added or deleted. */
static void start_txn(struct client *client, const struct kv_compare *compare,
                      const struct kv_req *then, bool other)
{
	const struct kv_req both[] = {
		*then, kv_op_put(PL_SPAN_LIT("/budgets/lock"), PL_SPAN_LIT("{\"v\":1}"))};
	const struct kv_req req = {.op = KV_TXN,
	                           .txn = {.compares = compare,
	                                   .compare_count = 1,
	                                   .then = both,
	                                   .then_count = other ? 2 : 1}};

	client->budgeting = kv_start(client->kv, &req, EDIT_MS, on_edited, client, NULL,
	                             NULL) == PL_OK;
}

static struct scenario_budget draw_budget(struct client *client, uint32_t version)
{
	struct world *world = client->world;
	struct scenario_budget what = {.version = version};

	what.is_max = world_chance(world, 1, 2);
	what.percent = world_chance(world, 1, 3);
	what.amount = what.percent ? 20 * (uint32_t)world_below(world, 6)
	                           : (uint32_t)world_below(world, 9);
	return what;
}

/* Prints the counts as they were counted, judged by the new rule. */
static size_t print_count(const struct mirror_budget *seen,
                          const struct scenario_budget *what, char *out, size_t size)
{
	uint32_t desired = scenario_budget_desired(what, seen->expected);
	uint32_t allowed = seen->expected > 0 && seen->healthy > desired
	                           ? seen->healthy - desired
	                           : 0;
	int len = 0;

	if (seen->counted)
		len = snprintf(out, size,
		               ",\"status\":{\"expected\":%u,\"desired\":%u,\"healthy\":"
		               "%u,\"allowed\":%u}",
		               seen->expected, desired, seen->healthy, allowed);
	return (size_t)len;
}

static size_t print_notes(const struct mirror_budget *seen, char *out, size_t size)
{
	size_t len = 0;

	for (uint32_t i = 0; i < seen->notes && len + NOTE_SIZE < size; i++)
		len += (size_t)snprintf(out + len, size - len,
		                        "%s\"p-%u\":\"%" PRId64 "\"",
		                        i == 0 ? ",\"disrupted\":{" : ",",
		                        seen->note[i].pod, seen->note[i].state_rev);
	if (len > 0)
		len += (size_t)snprintf(out + len, size - len, "}");
	return len;
}

static void put_budget(struct client *client, struct pl_span key,
                       const struct mirror_budget *seen)
{
	const struct scenario_budget what = draw_budget(client, seen->what.version + 1);
	struct kv_compare compare = kv_if_mod_rev(key, KV_EQ, seen->rev);
	char json[SCENARIO_JSON_SIZE], value[VALUE_SIZE];
	struct kv_req then;
	size_t len;

	scenario_budget_json(client->budget, &what, json);
	len = (size_t)snprintf(value, sizeof value, "{\"v\":1,\"budget\":%s", json);
	len += print_count(seen, &what, value + len, sizeof value - len);
	len += print_notes(seen, value + len, sizeof value - len);
	(void)snprintf(value + len, sizeof value - len, "}");
	client->budget_hit = seen->exists ? COVER_BUDGET_CHANGED : COVER_BUDGET_MADE;
	then = kv_op_put(key, pl_span_str(value));
	start_txn(client, &compare, &then, !seen->exists);
}

void client_budget(struct client *client)
{
	struct world *world = client->world;
	const struct mirror_budget *seen;
	struct keys_id id = {.kind = KEYS_BUDGET};
	char namespace[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	struct kv_compare compare;
	struct kv_req then;
	struct keys_text key;

	client->budget = (uint32_t)world_below(world, SCENARIO_BUDGETS);
	seen = &world->mirror->budget[client->budget];
	scenario_budget_namespace(client->budget, namespace);
	scenario_budget_name(client->budget, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	if (!seen->exists || world_chance(world, 2, 3)) {
		put_budget(client, keys_span(&key), seen);
		return;
	}
	client->budget_hit = COVER_BUDGET_DELETED;
	compare = kv_if_mod_rev(keys_span(&key), KV_EQ, seen->rev);
	then = kv_op_delete(kv_key(keys_span(&key)));
	start_txn(client, &compare, &then, true);
}
