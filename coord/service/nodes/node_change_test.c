/* Requested changes of nodes, case by case; and which Nodes are accepted at all. */
#include <stdio.h>

#include "coord/service/nodes/node_change.h"
#include "coord/service/nodes/nodes_input.h"
#include "tests/harness/torture.h"

#define FREE_ALLOC "{\"v\":1,\"generation\":7}"
#define FULL_ALLOC                                                               \
	"{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"}," \
	"\"pods\":{\"0001\":{\"web\":[\"a\"]}}}"
#define HELD_ALLOC                                                                     \
	"{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"1000m\"},\"holds\":[{\"kind\":" \
	"\"gang\",\"namespace\":\"ml\",\"name\":\"t\",\"used\":{\"cpu\":\"1000m\"},"   \
	"\"until\":\"2026-11-21T09:00:00.000Z\"}]}"

static struct pl_arena arena;
static struct node_change change;
static struct pl_err err;

static enum pl_code request(enum nodes_verb verb, const char *wanted, const char *node,
                            const char *alloc)
{
	struct node_seen seen = {.node_rev = node == NULL ? 0 : 5,
	                         .alloc_rev = alloc == NULL ? 0 : 6,
	                         .node = pl_span_str(node),
	                         .alloc = pl_span_str(alloc)};

	pl_arena_done(&arena);
	pl_arena_init(&arena, 0, 0);
	change = (struct node_change){0};
	err = (struct pl_err){0};
	return node_change(verb, pl_span_str(wanted), &seen, &arena, &change, &err);
}

static void puts_node(const char *node, const char *alloc)
{
	T_EQ(change.what, NODE_PUT);
	T_SPAN(change.node, pl_span_str(node));
	T_SPAN(change.alloc, pl_span_str(alloc));
}

T_CASE(a_new_node_has_an_empty_alloc)
{
	T_OK(request(NODES_APPLY, "{\"a\":1}", NULL, NULL), &err);
	puts_node("{\"a\":1}", "{\"v\":1,\"generation\":1}");
	pl_arena_done(&arena);
}

T_CASE(a_changed_node_keeps_its_alloc)
{
	T_OK(request(NODES_APPLY, "{\"a\":1}", "{\"a\":2}", FULL_ALLOC), &err);
	puts_node("{\"a\":1}",
	          "{\"v\":1,\"generation\":8,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	          "\"pods\":{\"0001\":{\"web\":[\"a\"]}}}");
	T_OK(request(NODES_APPLY, "{\"a\":1}", "{\"a\":1}", FULL_ALLOC), &err);
	T_EQ(change.what, NODE_SAME);
	pl_arena_done(&arena);
}

T_CASE(applying_a_file_without_the_field_keeps_the_cordon)
{
	static const char cordoned[] = "{\"a\":1,\"spec\":{\"unschedulable\":true}}";

	T_OK(request(NODES_APPLY, "{\"a\":1}", cordoned, FREE_ALLOC), &err);
	T_EQ(change.what, NODE_SAME);
	T_OK(request(NODES_APPLY, "{\"a\":2}", cordoned, FREE_ALLOC), &err);
	puts_node("{\"a\":2,\"spec\":{\"unschedulable\":true}}",
	          "{\"v\":1,\"generation\":8}");
	T_OK(request(NODES_APPLY, "{\"a\":1,\"spec\":{\"unschedulable\":false}}",
	             cordoned, FREE_ALLOC),
	     &err);
	puts_node("{\"a\":1,\"spec\":{\"unschedulable\":false}}",
	          "{\"v\":1,\"generation\":8}");
	pl_arena_done(&arena);
}

T_CASE(a_replaced_node_loses_a_cordon_that_is_not_said)
{
	static const char cordoned[] = "{\"a\":1,\"spec\":{\"unschedulable\":true}}";

	T_OK(request(NODES_REPLACE, cordoned, cordoned, FREE_ALLOC), &err);
	T_EQ(change.what, NODE_SAME);
	T_OK(request(NODES_REPLACE, "{\"a\":1,\"spec\":{}}", cordoned, FREE_ALLOC), &err);
	puts_node("{\"a\":1,\"spec\":{}}", "{\"v\":1,\"generation\":8}");
	T_OK(request(NODES_REPLACE, "{\"a\":1}", NULL, NULL), &err);
	puts_node("{\"a\":1}", "{\"v\":1,\"generation\":1}");
	pl_arena_done(&arena);
}

T_CASE(a_cordon_changes_nothing_else)
{
	static const char node[] = "{\"z\":1.50,\"spec\":{\"x\":[1]}}";
	char cordoned[200];

	T_OK(request(NODES_CORDON, NULL, node, FREE_ALLOC), &err);
	puts_node("{\"z\":1.50,\"spec\":{\"x\":[1],\"unschedulable\":true}}",
	          "{\"v\":1,\"generation\":8}");
	(void)snprintf(cordoned, sizeof cordoned, PL_SPAN_FMT, PL_SPAN_ARG(change.node));
	T_OK(request(NODES_CORDON, NULL, cordoned, FREE_ALLOC), &err);
	T_EQ(change.what, NODE_SAME);
	T_OK(request(NODES_UNCORDON, NULL, cordoned, FREE_ALLOC), &err);
	puts_node(node, "{\"v\":1,\"generation\":8}");
	T_OK(request(NODES_UNCORDON, NULL, node, FREE_ALLOC), &err);
	T_EQ(change.what, NODE_SAME);
	pl_arena_done(&arena);
}

T_CASE(a_malformed_node_is_only_replaced)
{
	static const char *const nodes[] = {"[1]", "{\"spec\":7}", "", "{"};

	for (unsigned i = 0; i < 4; i++) {
		T_OK(request(NODES_APPLY, "{\"a\":1}", nodes[i], FREE_ALLOC), &err);
		puts_node("{\"a\":1}", "{\"v\":1,\"generation\":8}");
		T_TRUE(request(NODES_CORDON, NULL, nodes[i], FREE_ALLOC) != PL_OK);
		T_OK(request(NODES_DELETE, NULL, nodes[i], FREE_ALLOC), &err);
	}
	pl_arena_done(&arena);
}

T_CASE(only_an_empty_node_is_deleted)
{
	T_OK(request(NODES_DELETE, NULL, "{}", FREE_ALLOC), &err);
	T_EQ(change.what, NODE_DELETE);
	T_EQ(request(NODES_DELETE, NULL, "{}", FULL_ALLOC), PL_CONFLICT);
	T_TRUE(strstr(err.msg, "1 pod is on it") != NULL);
	T_EQ(request(NODES_DELETE, NULL, "{}", HELD_ALLOC), PL_CONFLICT);
	T_TRUE(strstr(err.msg, "held") != NULL);
	pl_arena_done(&arena);
}

T_CASE(a_node_that_was_removed_comes_back_to_its_alloc)
{
	T_OK(request(NODES_APPLY, "{\"a\":1}", NULL, FULL_ALLOC), &err);
	puts_node("{\"a\":1}",
	          "{\"v\":1,\"generation\":8,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	          "\"pods\":{\"0001\":{\"web\":[\"a\"]}}}");
	T_OK(request(NODES_DELETE, NULL, NULL, FREE_ALLOC), &err);
	T_EQ(change.what, NODE_DELETE);
	T_EQ(request(NODES_DELETE, NULL, NULL, FULL_ALLOC), PL_CONFLICT);
	T_EQ(request(NODES_DELETE, NULL, NULL, HELD_ALLOC), PL_CONFLICT);
	/* Nothing is placed there anyway. */
	T_OK(request(NODES_CORDON, NULL, NULL, FULL_ALLOC), &err);
	T_EQ(change.what, NODE_SAME);
	T_EQ(request(NODES_UNCORDON, NULL, NULL, FULL_ALLOC), PL_CORRUPT);
	T_TRUE(strstr(err.msg, "apply it again") != NULL);
	pl_arena_done(&arena);
}

T_CASE(damaged_nodes_are_left_to_fsck)
{
	static const enum nodes_verb verbs[] = {NODES_APPLY, NODES_CORDON, NODES_UNCORDON,
	                                        NODES_DELETE};

	for (unsigned i = 0; i < 4; i++) {
		T_EQ(request(verbs[i], "{}", "{}", NULL), PL_CORRUPT);
		T_EQ(request(verbs[i], "{}", NULL, "[]"), PL_CORRUPT);
		T_EQ(request(verbs[i], "{}", "{}", "[]"), PL_CORRUPT);
		T_TRUE(strstr(err.msg, "its alloc is malformed") != NULL);
		if (verbs[i] != NODES_APPLY)
			T_EQ(request(verbs[i], NULL, NULL, NULL), PL_NOTFOUND);
	}
	pl_arena_done(&arena);
}

static enum pl_code tortured(void)
{
	return request(NODES_CORDON, NULL, "{\"spec\":{}}", FULL_ALLOC);
}

T_CASE(without_memory_nothing_is_decided)
{
	t_torture(tortured, false);
	pl_arena_done(&arena);
}

/* -- input ------------------------------------------------------------------------- */

static struct nodes_input input;

static enum pl_code add(const char *kind, const char *json)
{
	err = (struct pl_err){0};
	return nodes_input_add(&input, pl_span_str(kind), pl_span_str(json), &err);
}

static void refused(const char *kind, const char *json, const char *words)
{
	T_CODE(add(kind, json), PL_INVALID, &err);
	if (strstr(err.msg, words) == NULL)
		t_fail(__FILE__, __LINE__, "'%s' has not '%s'", err.msg, words);
}

T_CASE(only_valid_nodes_are_accepted)
{
	nodes_input_init(&input);
	refused("Pod", "{}", "kind: want Node, this is a Pod");
	refused("", "{}", "kind: want Node");
	refused("Node", "{\"apiVersion\":\"v2\"}", "apiVersion");
	refused("Node", "{\"metadata\":{}}", "metadata.name");
	refused("Node",
	        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[{\"key\":\"a\","
	        "\"effect\":\"Never\"}]}}",
	        "taints[0].effect");
	T_OK(add("Node", "{ \"metadata\" : {\"name\":\"n\"} }"), &err);
	refused("Node", "{\"metadata\":{\"name\":\"n\"}}", "another one");
	T_OK(add("Node", "{\"metadata\":{\"name\":\"m\"}}"), &err);
	T_EQ(input.names.count, 2);
	T_SPAN(nodes_input_of(pl_map_first(&input.names))->json,
	       PL_SPAN_LIT("{\"metadata\":{\"name\":\"n\"}}"));
	nodes_input_done(&input);
}

static enum pl_code input_tortured(void)
{
	enum pl_code code;

	nodes_input_init(&input);
	code = add("Node", "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":\"b\"}}}");
	nodes_input_done(&input);
	return code;
}

T_CASE(without_memory_no_node_is_accepted)
{
	t_torture(input_tortured, false);
}
