#include "coord/api/objects/source_order.h"

#include <stdio.h>

const struct source_layout source_layouts[SOURCE_KINDS] = {
	[SOURCE_PODS] = {KEYS_SPEC, "/schedules/", "/schedules/tick"},
	[SOURCE_NODES] = {KEYS_NODE, "/nodes/", "/nodes/tick"},
	[SOURCE_BUDGETS] = {KEYS_BUDGET, "/budgets/", "/budgets/tick"},
	[SOURCE_SHARDS] = {KEYS_SHARD, "/shards/", NULL},
	[SOURCE_OWNERS] = {KEYS_OWNER, "/partitions/", NULL},
	[SOURCE_CONFIGS] = {KEYS_CONFIG, "/config/", NULL},
	[SOURCE_GANGS] = {KEYS_GANG, "/gangs/", NULL},
	[SOURCE_CLUSTERS] = {KEYS_CLUSTER, "/clusters/", NULL},
	[SOURCE_TOKENS] = {KEYS_TOKEN, "/access/tokens/", NULL},
	[SOURCE_OBJECTS] = {KEYS_OBJECT, "/objects/", "/objects/tick"},
};

bool source_wants(enum source_kind kind, struct pl_span key)
{
	struct keys_id id;

	if (keys_parse(key, &id, NULL) != PL_OK)
		return false;
	switch (kind) {
	case SOURCE_PODS:
		return id.kind == KEYS_SPEC || id.kind == KEYS_STATE;
	case SOURCE_CONFIGS:
		return id.kind == KEYS_CONFIG || id.kind == KEYS_CONFIG_CURRENT;
	case SOURCE_OBJECTS:
		return id.kind == KEYS_OBJECT || id.kind == KEYS_OBJECT_IN;
	case SOURCE_NODES:
	case SOURCE_BUDGETS:
	case SOURCE_SHARDS:
	case SOURCE_OWNERS:
	case SOURCE_GANGS:
	case SOURCE_CLUSTERS:
	case SOURCE_TOKENS:
	case SOURCE_KINDS:
		break;
	}
	return id.kind == source_layouts[kind].kind;
}

struct order_writer {
	uint8_t *at;
	size_t len;
};

static void put_span(struct order_writer *w, struct pl_span text)
{
	PL_ASSERT(w->len + text.len < SOURCE_ORDER_MAX);
	if (text.len > 0)
		memcpy(w->at + w->len, text.at, text.len);
	w->len += text.len;
}

static void put_step(struct order_writer *w, struct pl_span text)
{
	put_span(w, text);
	put_span(w, PL_SPAN_LIT("/"));
}

/* A letter for the part; the digits keep entries of a wrong partition apart. */
static void put_part(struct order_writer *w, char part, unsigned digits, uint64_t number)
{
	char text[24];
	int len = snprintf(text, sizeof text, "%c%0*llu", part, (int)digits,
	                   (unsigned long long)number);

	PL_ASSERT(len > 0 && (size_t)len < sizeof text);
	put_span(w, pl_span(text, (size_t)len));
}

size_t source_order(enum source_kind kind, struct pl_span key,
                    uint8_t out[SOURCE_ORDER_MAX])
{
	struct order_writer w = {.at = out};
	struct keys_id id = {0};
	char joined[MEMBER_NAME_SIZE], digits[8];
	enum pl_code code = keys_parse(key, &id, NULL);

	PL_ASSERT(code == PL_OK);
	if (id.group.len > 0)
		put_step(&w, id.group);
	if (id.resource.len > 0)
		put_step(&w, id.resource);
	switch (kind) {
	case SOURCE_NODES:
		put_step(&w,
		         pl_span(joined, member_name_join(id.scope, id.name, joined)));
		break;
	case SOURCE_OWNERS:
		(void)snprintf(digits, sizeof digits, "%04u", (unsigned)id.partition);
		put_step(&w, pl_span_str(digits));
		break;
	default:
		if (id.scope.len > 0)
			put_step(&w, id.scope);
		put_step(&w, id.name);
		break;
	}
	if (id.kind == KEYS_CONFIG_CURRENT)
		put_part(&w, 'c', 1, 0);
	else if (id.kind == KEYS_CONFIG)
		put_part(&w, 'v', 10, id.version);
	else
		put_part(&w, id.kind == KEYS_STATE ? 's' : 'm', 4, id.partition);
	return w.len;
}

struct pl_span source_order_object(struct pl_span order)
{
	while (order.len > 0 && order.at[order.len - 1] != '/')
		order.len--;
	return order;
}

static struct pl_span last_step(struct pl_span *order)
{
	size_t end = order->len, at;

	if (end > 0 && order->at[end - 1] == '/')
		end--;
	for (at = end; at > 0 && order->at[at - 1] != '/';)
		at--;
	order->len = at;
	return pl_span(order->at + at, end - at);
}

void source_order_names(bool namespaced, struct pl_span order, struct pl_span *namespace,
                        struct pl_span *name)
{
	order = source_order_object(order);
	*name = last_step(&order);
	*namespace = namespaced ? last_step(&order) : (struct pl_span){0};
}

char source_order_part(struct pl_span order)
{
	struct pl_span object = source_order_object(order);

	if (object.len == order.len)
		return 0;
	return ((const char *)order.at)[object.len];
}
