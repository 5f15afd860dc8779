/*
 * A fixture for tests of fsck: a small valid store, and the keys and values that it is
 * made and damaged with. Each test program includes it for itself, so names are short.
 */
#ifndef TESTS_SUPPORT_COORD_SERVICE_FSCK_FSCK_STORE_H
#define TESTS_SUPPORT_COORD_SERVICE_FSCK_FSCK_STORE_H

#include "shardsched/records/pod_location.h"
#include "store/keys/partition.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 8, TEXT_SIZE = 4096 };

static struct kit kit;

/* -- keys and values --------------------------------------------------------------- */

static inline uint32_t node_partition(const char *name)
{
	uint32_t out;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(name), PARTITIONS, &out,
	                       NULL),
	     NULL);
	return out;
}

static inline uint32_t pod_partition(const char *namespace, const char *name)
{
	uint32_t out;

	T_OK(partition_of_pod(pl_span_str(namespace), pl_span_str(name), PARTITIONS, &out,
	                      NULL),
	     NULL);
	return out;
}

static inline const char *key_in(enum keys_kind kind, uint32_t partition,
                                 const char *scope, const char *name)
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

static inline const char *node_key(enum keys_kind kind, const char *name)
{
	return key_in(kind, node_partition(name), "east", name);
}

static inline const char *pod_key(enum keys_kind kind, const char *namespace,
                                  const char *name)
{
	return key_in(kind, pod_partition(namespace, name), namespace, name);
}

static inline void drop(const char *key)
{
	T_EQ(kit_delete(&kit, kv_key(pl_span_str(key))), 1);
}

/* Each write of a Node also puts this key. */
static inline void put_shape(void)
{
	(void)kit_put(&kit, "/groups/nodes", "{\"v\":1}");
}

static inline void put_node(const char *name, unsigned cpu)
{
	char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":{"
	               "\"cpu\":\"%u\",\"memory\":\"8Gi\",\"pods\":\"10\","
	               "\"ephemeral-storage\":\"1Gi\","
	               "\"example.com/gpu\":\"2\"}}}",
	               name, cpu);
	(void)kit_put(&kit, node_key(KEYS_NODE, name), json);
	put_shape();
}

static inline const char *spec_of(const char *namespace, const char *name,
                                  const char *more)
{
	static char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\"%s},\"spec\":{"
	               "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
	               "\"requests\":{\"cpu\":\"500m\",\"memory\":\"64Mi\"}}}]}}",
	               namespace, name, more);
	return json;
}

#define GANG ",\"annotations\":{\"placet.io/gang\":\"t\",\"placet.io/gang-min\":\"1\"}"

static inline const char *state_of(const char *phase, const char *node, const char *epoch)
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

static inline void put_state(const char *namespace, const char *name, const char *json)
{
	(void)kit_put(&kit, pod_key(KEYS_STATE, namespace, name), json);
}

static inline void put_bound(const char *name, const char *node)
{
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "web", name), spec_of("web", name, ""));
	put_state("web", name, state_of("Bound", node, "1"));
}

/* pods: "web/a web/b"; their partitions are those of their names. */
static inline const char *alloc_of(unsigned listed, const char *pods)
{
	static char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"%um\",\"memory\":"
	               "\"%u\",\"pods\":\"%u\"},\"pods\":{%s}}",
	               listed * 500, listed * (64u << 20), listed, pods);
	return json;
}

static inline uint32_t gang_home(void)
{
	struct partition_group group = {.namespace = PL_SPAN_LIT("db"),
	                                .gang = PL_SPAN_LIT("t")};
	uint32_t out;

	T_OK(partition_of_group(&group, PARTITIONS, &out, NULL), NULL);
	return out;
}

/* A name that falls into another partition than the gang. */
static inline const char *gang_pod(void)
{
	static char name[16];

	for (unsigned i = 0;; i++) {
		(void)snprintf(name, sizeof name, "g%u", i);
		if (pod_partition("db", name) != gang_home())
			return name;
	}
}

static inline const char *listed(const char *namespace, const char *name,
                                 uint32_t partition)
{
	static char text[4][100];
	static unsigned at;

	at = (at + 1) % 4;
	(void)snprintf(text[at], sizeof text[at], "\"%04u\":{\"%s\":[\"%s\"]}", partition,
	               namespace, name);
	return text[at];
}

/* Lists the pods and marks them as leaving. */
static inline const char *leaving(const char *pods)
{
	static char text[300];

	(void)snprintf(text, sizeof text, "%s},\"leaving\":{%s", pods, pods);
	return text;
}

static inline void put_alloc_two(void)
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

/* The record of a gang that is being placed on that node. */
static inline void put_gang_as(const char *phase, const char *namespace, const char *name,
                               const char *node)
{
	char key[100], json[300];

	(void)snprintf(key, sizeof key, "/gangs/%s/%s", namespace, name);
	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"phase\":\"%s\",\"shard\":\"s\",\"epoch\":\"1\","
	               "\"until\":\"2026-11-21T09:00:00.000Z\",\"nodes\":[{\"at\":1,"
	               "\"cluster\":\"east\",\"node\":\"%s\",\"pods\":{\"w\":\"4\"}}]}",
	               phase, node);
	(void)kit_put(&kit, key, json);
}

static inline void put_gang(const char *namespace, const char *name, const char *node)
{
	put_gang_as("reserving", namespace, name, node);
}

static inline void put_pointer(void)
{
	char text[POINTER_TEXT_SIZE + 1] = "";
	struct pl_span pointer = pointer_text(gang_home(), text);

	text[pointer.len] = 0;
	(void)kit_put(&kit, pod_key(KEYS_SPEC, "db", gang_pod()), text);
}

/* n-0 has web/a and web/b, n-1 has the gang's pod, n-2 is empty; web/c waits. */
static inline void up_over(const struct faulty_rule *rules, size_t count)
{
	kit_open(&kit, NULL);
	if (count > 0)
		T_OK(faulty_open(kit.kv, t_seed(), rules, count, &kit.kv, &kit.err),
		     &kit.err);
	if (count > 0)
		faulty_pause(kit.kv, true);
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

static inline void up(void)
{
	up_over(NULL, 0);
}

#endif
