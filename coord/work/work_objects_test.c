/* Cluster objects of the store reach the shards: pods are placed by the labels of stored
 * Namespaces, and by stored volumes. */
#include "store/keys/partition.h"
#include "tests/support/coord/work/work_fixture.h"

enum { JSON_SIZE = 1024 };

static void put_key(enum keys_kind kind, uint32_t partition, const char *scope,
                    const char *name, const char *value)
{
	const struct keys_id id = {.kind = kind,
	                           .partition = partition,
	                           .scope = pl_span_str(scope),
	                           .name = pl_span_str(name)};
	struct keys_text text;

	T_OK(keys_build(&id, &text, &kit.err), &kit.err);
	(void)kit_put(&kit, text.at, value);
}

static void put_node(const char *name)
{
	char json[JSON_SIZE];
	uint32_t partition;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(name), PARTITIONS,
	                       &partition, &kit.err),
	     &kit.err);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"host\":\"%s\"}},"
	               "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\","
	               "\"pods\":\"110\"}}}",
	               name, name);
	put_key(KEYS_ALLOC, partition, "east", name, "{\"v\":1,\"generation\":1}");
	put_key(KEYS_NODE, partition, "east", name, json);
	(void)kit_put(&kit, "/groups/nodes", "{\"v\":1}");
}

static uint32_t partition_of(const char *namespace, const char *name)
{
	uint32_t partition;

	T_OK(partition_of_pod(pl_span_str(namespace), pl_span_str(name), PARTITIONS,
	                      &partition, &kit.err),
	     &kit.err);
	return partition;
}

static void put_pod(const char *namespace, const char *name, const char *more)
{
	char json[JSON_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{%s"
	               "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
	               namespace, name, name, name, more);
	put_key(KEYS_SPEC, partition_of(namespace, name), namespace, name, json);
}

static bool is_on(const char *namespace, const char *name, const char *node)
{
	char key[96], word[32];
	const char *state;

	(void)snprintf(key, sizeof key, "/schedules/%04u/%s/%s/state",
	               partition_of(namespace, name), namespace, name);
	(void)snprintf(word, sizeof word, "\"node\":\"%s\"", node);
	state = value_at(key);
	return state != NULL && strstr(state, "\"Bound\"") != NULL &&
	       strstr(state, word) != NULL;
}

static void put_team(const char *namespace, const char *team)
{
	char key[96], json[JSON_SIZE];

	(void)snprintf(key, sizeof key, "/objects/core/namespaces/%s", namespace);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"team\":\"%s\"}}}",
	               namespace, team);
	(void)kit_put(&kit, key, json);
	(void)kit_put(&kit, "/objects/core/namespaces", "{\"v\":1}");
}

#define BESIDE_DB                                                                     \
	"\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecu" \
	"tion\":[{\"topologyKey\":\"host\",\"namespaceSelector\":{\"matchLabels\":{"  \
	"\"team\":\"a\"}},\"labelSelector\":{\"matchLabels\":{\"app\":\"db\"}}}]}},"

static void put_nodes(void)
{
	put_node("n-1");
	put_node("n-2");
	put_pod("data", "db", "\"nodeSelector\":{\"host\":\"n-2\"},");
	settle();
	T_TRUE(is_on("data", "db", "n-2"));
}

static void nodes_and_db(void)
{
	workers_up();
	put_nodes();
}

static void end(void)
{
	T_EQ(fixtures[0].trouble + fixtures[1].trouble, 0);
	workers_down();
}

T_CASE(pods_are_placed_by_the_labels_of_stored_namespaces)
{
	nodes_and_db();
	put_pod("web", "x", BESIDE_DB);
	run_ms(5000);
	T_TRUE(!is_on("web", "x", "n-2"));
	put_team("data", "a");
	run_ms(15000);
	T_TRUE(is_on("web", "x", "n-2"));
	end();
}

T_CASE(objects_that_were_there_before_the_shards)
{
	up();
	put_team("data", "a");
	worker_open(0);
	worker_open(1);
	put_nodes();
	put_pod("web", "x", BESIDE_DB);
	run_ms(5000);
	T_TRUE(is_on("web", "x", "n-2"));
	end();
}

T_CASE(pods_wait_for_their_claims)
{
	nodes_and_db();
	put_pod("web", "x",
	        "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":"
	        "\"c\"}}],");
	run_ms(5000);
	T_TRUE(!is_on("web", "x", "n-1"));
	(void)kit_put(
		&kit, "/objects/core/persistentvolumes/v",
		"{\"metadata\":{\"name\":\"v\"},\"spec\":{\"capacity\":{\"storage\":"
		"\"1Gi\"},\"accessModes\":[\"ReadWriteOnce\"],\"csi\":{\"driver\":\"d\","
		"\"volumeHandle\":\"h\"},\"claimRef\":{\"namespace\":\"web\",\"name\":"
		"\"c\"},\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{"
		"\"matchExpressions\":[{\"key\":\"host\",\"operator\":\"In\",\"values\":["
		"\"n-1\"]}]}]}}}}");
	(void)kit_put(&kit, "/objects/core/persistentvolumeclaims/web/c",
	              "{\"metadata\":{\"namespace\":\"web\",\"name\":\"c\","
	              "\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"}},"
	              "\"spec\":{\"volumeName\":\"v\",\"accessModes\":["
	              "\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"
	              "\"1Gi\"}}}}");
	run_ms(15000);
	T_TRUE(is_on("web", "x", "n-1"));
	end();
}

T_CASE(a_malformed_object_is_reported_and_stops_no_shard)
{
	nodes_and_db();
	(void)kit_put(&kit, "/objects/core/services/web/s", "{");
	/* not read by anybody here */
	(void)kit_put(&kit, "/objects/core/configmaps/web/s", "{");
	put_pod("web", "x", "\"nodeSelector\":{\"host\":\"n-1\"},");
	run_ms(5000);
	T_TRUE(is_on("web", "x", "n-1"));
	T_EQ(fixtures[0].malformed, 1);
	T_EQ(fixtures[1].malformed, 1);
	end();
}
