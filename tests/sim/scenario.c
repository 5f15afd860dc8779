#include "tests/sim/scenario.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/timestamp.h"
#include "store/keys/partition.h"

enum {
	MORE_SIZE = 900,
	TAINTS_SIZE = 320,
	NODE_CPU = 4000,
	NODE_MIB = 8192,
	NODE_PODS = 12,
	EXTRA_CPU = 16000,
	EXTRA_MIB = 32768,
	EXTRA_PODS = 40,
	NEVER_CPU = 900000,
	PORT_FIRST = 8000,
	PODS_WITH_RULE = 3,
	PRIORITY_LOW = -10,
	PRIORITY_HIGH = 1000,
};

#define SCENARIO_KIND_TEXT(kind, text) [SCENARIO_##kind] = (text),
const char *const scenario_kind_text[SCENARIO_KINDS] = {
	SCENARIO_KIND_MAP(SCENARIO_KIND_TEXT)};

/* -- properties of a number ---------------------------------------------- */

enum scenario_kind scenario_kind(uint32_t pod)
{
	return (enum scenario_kind)(pod / SCENARIO_GROUP % SCENARIO_KINDS);
}

/* Three of the four zones are allowed. */
uint32_t scenario_group(uint32_t pod)
{
	enum scenario_kind kind = scenario_kind(pod);
	bool threes = kind == SCENARIO_ANTI_ZONE || kind == SCENARIO_APART_ANTI;

	if (kind == SCENARIO_LARGE)
		return scenario_gang(pod);
	return threes ? 1000000 + pod / 3 : pod / SCENARIO_GROUP;
}

uint32_t scenario_gang(uint32_t pod)
{
	uint32_t row = pod / SCENARIO_GROUP, turn = row / SCENARIO_KINDS;

	if (scenario_kind(pod) != SCENARIO_LARGE)
		return row;
	return row - turn % SCENARIO_LARGE_ROWS * SCENARIO_KINDS;
}

uint32_t scenario_gang_pods(uint32_t gang, uint32_t pods,
                            uint32_t out[SCENARIO_GANG_PODS])
{
	uint32_t first = gang * SCENARIO_GROUP, count = 0;
	unsigned rows = scenario_kind(first) == SCENARIO_LARGE ? SCENARIO_LARGE_ROWS : 1;

	for (unsigned row = 0; row < rows; row++)
		for (uint32_t i = 0; i < SCENARIO_GROUP; i++) {
			uint32_t pod = first + row * SCENARIO_KINDS * SCENARIO_GROUP + i;

			if (pod < pods)
				out[count++] = pod;
		}
	return count;
}

uint32_t scenario_gang_min(uint32_t gang)
{
	return scenario_kind(gang * SCENARIO_GROUP) == SCENARIO_LARGE ? SCENARIO_LARGE_MIN
	                                                              : SCENARIO_GANG_MIN;
}

/* The smallest worlds have a large gang with the first rule, and others with the second
 * and the third. */
enum scenario_kind scenario_gang_rule(uint32_t gang)
{
	static const enum scenario_kind rules[] = {SCENARIO_SPREAD_ZONE,
	                                           SCENARIO_AFFINITY, SCENARIO_BASIC};
	uint32_t turn = gang / SCENARIO_KINDS;

	if (scenario_kind(gang * SCENARIO_GROUP) == SCENARIO_LARGE)
		return rules[turn / SCENARIO_LARGE_ROWS % 3];
	return rules[(turn + 1) % 3];
}

bool scenario_gang_has_domain(uint32_t gang)
{
	return scenario_kind(gang * SCENARIO_GROUP) == SCENARIO_GANG &&
	       scenario_gang_rule(gang) == SCENARIO_BASIC;
}

/* Pods without a rule of the first, second and third row. */
uint32_t scenario_selected_by(uint32_t pod)
{
	static const uint32_t first[] = {SCENARIO_LARGE, SCENARIO_GANG,
	                                 SCENARIO_KINDS + SCENARIO_GANG};
	uint32_t row = pod / SCENARIO_GROUP, turn = row / SCENARIO_KINDS;
	uint32_t gang = first[turn % 3] + turn / 3 * 3 * SCENARIO_KINDS;

	if (scenario_kind(pod) != SCENARIO_BASIC ||
	    gang % SCENARIO_NAMESPACES != row % SCENARIO_NAMESPACES)
		return UINT32_MAX;
	return gang;
}

static bool is_apart(enum scenario_kind kind)
{
	return kind == SCENARIO_APART_SPREAD || kind == SCENARIO_APART_AFFINITY ||
	       kind == SCENARIO_APART_ANTI;
}

/* The pod's rule about pods on other nodes: by its kind, or its gang's. BASIC: none. */
static enum scenario_kind rule_of(uint32_t pod)
{
	enum scenario_kind kind = scenario_kind(pod);

	switch (kind) {
	case SCENARIO_SPREAD_ZONE:
	case SCENARIO_SPREAD_HOST:
	case SCENARIO_AFFINITY:
	case SCENARIO_ANTI_HOST:
	case SCENARIO_ANTI_ZONE:
	case SCENARIO_STATEFUL:
	case SCENARIO_APART_SPREAD:
	case SCENARIO_APART_AFFINITY:
	case SCENARIO_APART_ANTI:
		return kind;
	case SCENARIO_GANG:
	case SCENARIO_LARGE:
		return scenario_gang_rule(scenario_gang(pod));
	case SCENARIO_BASIC:
	case SCENARIO_NODEAFFINITY:
	case SCENARIO_SELECTOR:
	case SCENARIO_TOLERATES:
	case SCENARIO_PORT:
	case SCENARIO_FILL:
	case SCENARIO_HIGH:
	case SCENARIO_MAINTENANCE:
	case SCENARIO_NEVER:
	case SCENARIO_KINDS:
		break;
	}
	return SCENARIO_BASIC;
}

/* A pod that requires others of its label can be the first only if it has that label
 * itself. */
static bool needs_itself(uint32_t pod)
{
	enum scenario_kind rule = rule_of(pod);

	return rule == SCENARIO_AFFINITY || rule == SCENARIO_APART_AFFINITY;
}

/* By incarnation: selected and with the rule, then neither, then only the one, then only
 * the other. */
bool scenario_has_rule(uint32_t pod, uint32_t incarnation)
{
	uint32_t labels = incarnation % SCENARIO_LABEL_SETS;

	if (rule_of(pod) == SCENARIO_BASIC)
		return false;
	if (scenario_is_gang(pod))
		return true;
	if (scenario_kind(pod) == SCENARIO_APART_SPREAD &&
	    pod % SCENARIO_GROUP >= PODS_WITH_RULE)
		return false;
	return labels == 0 || (labels == 3 && !needs_itself(pod));
}

bool scenario_is_selected(uint32_t pod, uint32_t incarnation)
{
	if (rule_of(pod) == SCENARIO_BASIC)
		return scenario_is_gang(pod) ||
		       (scenario_selected_by(pod) != UINT32_MAX &&
		        (pod + incarnation) % 2 == 0);
	return incarnation % 2 == 0 || (scenario_is_gang(pod) && needs_itself(pod));
}

bool scenario_may_relabel(uint32_t pod, uint32_t incarnation)
{
	return !scenario_is_gang(pod) &&
	       !(needs_itself(pod) && scenario_has_rule(pod, incarnation));
}

unsigned scenario_half(uint32_t pod, uint32_t incarnation)
{
	return (pod + incarnation) % 2;
}

unsigned scenario_toleration_s(uint32_t pod)
{
	unsigned turn = pod / SCENARIO_GROUP / SCENARIO_KINDS % 3;

	if (scenario_kind(pod) != SCENARIO_MAINTENANCE)
		return 0;
	return turn == 2 ? SCENARIO_FOREVER : 2 + 4 * turn;
}

int32_t scenario_priority(enum scenario_kind kind)
{
	if (kind == SCENARIO_HIGH)
		return PRIORITY_HIGH;
	return kind == SCENARIO_FILL ? PRIORITY_LOW : 0;
}

bool scenario_must_fit(enum scenario_kind kind)
{
	return kind != SCENARIO_NEVER && kind != SCENARIO_FILL;
}

bool scenario_is_ssd(uint32_t node)
{
	return node % 3 == 0;
}

bool scenario_is_tight(uint32_t node)
{
	return node % 20 == 7;
}

bool scenario_stays_closed(uint32_t node)
{
	return node % 15 == 11;
}

bool scenario_wants_zone(uint32_t pod, unsigned zone)
{
	unsigned first = pod / SCENARIO_GROUP % SCENARIO_ZONES;

	return zone == first || zone == (first + 1) % SCENARIO_ZONES;
}

struct scenario_node scenario_node_first(const struct scenario *scenario, uint32_t node)
{
	bool extra = node >= scenario->nodes;

	return (struct scenario_node){.cpu_milli = extra ? EXTRA_CPU : NODE_CPU,
	                              .memory_mib = extra ? EXTRA_MIB : NODE_MIB,
	                              .pods = extra ? EXTRA_PODS : NODE_PODS,
	                              .zone = node % SCENARIO_ZONES,
	                              .tainted = !extra && node % 15 == 4};
}

struct scenario_pod scenario_pod_first(uint32_t pod)
{
	static const int64_t cpu[] = {100, 250, 400, 700};
	enum scenario_kind kind = scenario_kind(pod);
	struct scenario_pod what = {.cpu_milli = cpu[pod / SCENARIO_GROUP % 4],
	                            .memory_mib = 128 + pod / SCENARIO_GROUP % 3 * 128};

	if (kind == SCENARIO_NEVER)
		what.cpu_milli = NEVER_CPU;
	if (kind == SCENARIO_FILL)
		what.cpu_milli = 1100;
	if (kind == SCENARIO_HIGH)
		what.cpu_milli = 300;
	return what;
}

/* -- names ----------------------------------------------------------------- */

void scenario_node_cluster(const struct scenario *scenario, uint32_t node,
                           char out[SCENARIO_NAME_SIZE])
{
	(void)snprintf(out, SCENARIO_NAME_SIZE, "c%u",
	               node / SCENARIO_ZONES % scenario->clusters);
}

void scenario_node_name(uint32_t node, char out[SCENARIO_NAME_SIZE])
{
	(void)snprintf(out, SCENARIO_NAME_SIZE, "n-%u", node);
}

void scenario_pod_namespace(uint32_t pod, char out[SCENARIO_NAME_SIZE])
{
	uint32_t row = scenario_is_gang(pod) ? scenario_gang(pod) : pod / SCENARIO_GROUP;

	(void)snprintf(out, SCENARIO_NAME_SIZE, "ns%u", row % SCENARIO_NAMESPACES);
}

void scenario_gang_name(uint32_t gang, char out[SCENARIO_NAME_SIZE])
{
	(void)snprintf(out, SCENARIO_NAME_SIZE, "g-%u", gang);
}

void scenario_gang_namespace(uint32_t gang, char out[SCENARIO_NAME_SIZE])
{
	scenario_pod_namespace(gang * SCENARIO_GROUP, out);
}

void scenario_pod_name(uint32_t pod, char out[SCENARIO_NAME_SIZE])
{
	(void)snprintf(out, SCENARIO_NAME_SIZE, "p-%u", pod);
}

static uint32_t number_of(struct pl_span name, char letter, uint32_t below)
{
	uint32_t number = 0;

	if (name.len < 3 || name.len > 9 || name.at[0] != (uint8_t)letter ||
	    name.at[1] != '-')
		return UINT32_MAX;
	for (size_t i = 2; i < name.len; i++) {
		if (name.at[i] < '0' || name.at[i] > '9')
			return UINT32_MAX;
		number = number * 10 + (uint32_t)(name.at[i] - '0');
	}
	return number < below ? number : UINT32_MAX;
}

uint32_t scenario_node_of(const struct scenario *scenario, struct pl_span cluster,
                          struct pl_span name)
{
	uint32_t node = number_of(name, 'n', scenario->nodes + scenario->extra);
	char want[SCENARIO_NAME_SIZE];

	if (node == UINT32_MAX)
		return node;
	scenario_node_cluster(scenario, node, want);
	return pl_span_eq(cluster, pl_span_str(want)) ? node : UINT32_MAX;
}

uint32_t scenario_pod_of(const struct scenario *scenario, struct pl_span namespace,
                         struct pl_span name)
{
	uint32_t pod = number_of(name, 'p', scenario->pods);
	char want[SCENARIO_NAME_SIZE];

	if (pod == UINT32_MAX)
		return pod;
	scenario_pod_namespace(pod, want);
	return pl_span_eq(namespace, pl_span_str(want)) ? pod : UINT32_MAX;
}

uint32_t scenario_gang_of(struct pl_span namespace, struct pl_span name, uint32_t pods)
{
	uint32_t gang = number_of(name, 'g', pods / SCENARIO_GROUP + 1);
	char want[SCENARIO_NAME_SIZE];

	if (gang == UINT32_MAX || !scenario_is_gang(gang * SCENARIO_GROUP) ||
	    scenario_gang(gang * SCENARIO_GROUP) != gang)
		return UINT32_MAX;
	scenario_gang_namespace(gang, want);
	return pl_span_eq(namespace, pl_span_str(want)) ? gang : UINT32_MAX;
}

/* -- partitions -------------------------------------------------------------- */

/* Pods of the APART kinds have a controller each. */
static uint32_t owner_of(uint32_t pod)
{
	return is_apart(scenario_kind(pod)) ? pod : scenario_group(pod);
}

static const char *owner_kind(uint32_t pod)
{
	return scenario_kind(pod) == SCENARIO_STATEFUL ? "StatefulSet" : "ReplicaSet";
}

uint32_t scenario_pod_partition(uint32_t pod, uint32_t incarnation, uint32_t partitions)
{
	char namespace[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	char uid[SCENARIO_NAME_SIZE];
	struct partition_group group = {0};
	uint32_t partition = 0;
	enum pl_code code;

	scenario_pod_namespace(pod, namespace);
	group.namespace = pl_span_str(namespace);
	if (scenario_is_gang(pod)) {
		scenario_gang_name(scenario_gang(pod), name);
		group.gang = pl_span_str(name);
		code = partition_of_group(&group, partitions, &partition, NULL);
	} else if (scenario_has_rule(pod, incarnation)) {
		(void)snprintf(name, sizeof name, "g%u", owner_of(pod));
		(void)snprintf(uid, sizeof uid, "o-%u", owner_of(pod));
		group.kind = pl_span_str(owner_kind(pod));
		group.name = pl_span_str(name);
		group.uid = pl_span_str(uid);
		code = partition_of_group(&group, partitions, &partition, NULL);
	} else {
		scenario_pod_name(pod, name);
		code = partition_of_pod(group.namespace, pl_span_str(name), partitions,
		                        &partition, NULL);
	}
	PL_ASSERT(code == PL_OK);
	return partition;
}

struct scenario_pod scenario_pod_in(uint32_t pod, uint32_t incarnation,
                                    uint32_t partition, uint32_t partitions)
{
	struct scenario_pod what = scenario_pod_first(pod);

	if (incarnation < SCENARIO_INCARNATIONS &&
	    scenario_pod_partition(pod, incarnation, partitions) == partition) {
		what.incarnation = what.labels = incarnation;
		return what;
	}
	for (uint32_t i = 0; i < SCENARIO_LABEL_SETS; i++)
		if (scenario_pod_partition(pod, i, partitions) == partition) {
			what.incarnation = what.labels = i;
			break;
		}
	return what;
}

/* -- JSON -------------------------------------------------------------------- */

static void taints_json(const struct scenario_node *what, char out[TAINTS_SIZE])
{
	static const char batch[] = "{\"key\":\"dedicated\",\"value\":\"batch\","
				    "\"effect\":\"NoSchedule\"}";
	char closed[TAINTS_SIZE / 2] = "", stamp[PL_TIMESTAMP_SIZE], since[64] = "";

	if (what->closed && what->closed_ms != 0)
		(void)snprintf(since, sizeof since, ",\"timeAdded\":\"%s\"",
		               pl_timestamp_print(what->closed_ms, stamp));
	if (what->closed)
		(void)snprintf(closed, sizeof closed,
		               "{\"key\":\"maintenance\",\"effect\":\"NoExecute\"%s}",
		               since);
	out[0] = 0;
	if (what->tainted || what->closed)
		(void)snprintf(out, TAINTS_SIZE, ",\"taints\":[%s%s%s]",
		               what->tainted ? batch : "",
		               what->tainted && what->closed ? "," : "", closed);
}

/* Nodes of two clusters may have the same host name, as their names do. */
void scenario_node_json(const struct scenario *scenario, uint32_t node,
                        const struct scenario_node *what, char out[SCENARIO_JSON_SIZE])
{
	char cluster[SCENARIO_NAME_SIZE], taints[TAINTS_SIZE];

	scenario_node_cluster(scenario, node, cluster);
	taints_json(what, taints);
	(void)snprintf(
		out, SCENARIO_JSON_SIZE,
		"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
		"\"n-%u\",\"labels\":{\"kubernetes.io/hostname\":\"n-%u\","
		"\"topology.kubernetes.io/zone\":\"z%u\",\"cluster\":\"%s\",\"disk\":"
		"\"%s\",\"pool\":\"%s\"},\"annotations\":{\"sim\":\"%u %" PRId64
		" %" PRId64 " %" PRId64 " %d %d %" PRId64
		" %u\"}},\"spec\":{\"unschedulable\":%s%s},"
		"\"status\":{\"allocatable\":{\"cpu\":\"%" PRId64
		"m\",\"memory\":\"%" PRId64 "Mi\",\"pods\":\"%" PRId64 "\"}}}",
		node, node / 2, what->zone, cluster,
		scenario_is_ssd(node) ? "ssd" : "hdd",
		scenario_is_tight(node) ? "tight" : "wide", what->version,
		what->cpu_milli, what->memory_mib, what->pods, what->tainted,
		what->closed, what->closed_ms, what->zone,
		what->cordoned ? "true" : "false", taints, what->cpu_milli,
		what->memory_mib, what->pods);
}

#define SELECT "\"labelSelector\":{\"matchLabels\":{\"found\":\"g%u\"}},"
#define ZONE "\"topology.kubernetes.io/zone\""
#define HOST "\"kubernetes.io/hostname\""

static void toleration_json(uint32_t pod, char out[MORE_SIZE])
{
	unsigned bears_s = scenario_toleration_s(pod);
	char seconds[40] = "";

	if (bears_s != SCENARIO_FOREVER)
		(void)snprintf(seconds, sizeof seconds, ",\"tolerationSeconds\":%u",
		               bears_s);
	(void)snprintf(out, MORE_SIZE,
	               "\"tolerations\":[{\"key\":\"maintenance\",\"operator\":"
	               "\"Exists\",\"effect\":\"NoExecute\"%s}],",
	               seconds);
}

static void affinity_json(uint32_t group, char out[MORE_SIZE])
{
	(void)snprintf(out, MORE_SIZE,
	               "\"affinity\":{\"podAffinity\":{\"requiredDuring"
	               "SchedulingIgnoredDuringExecution\":[{" SELECT
	               "\"topologyKey\":" ZONE "}]}},",
	               group);
}

/* The part of the spec that makes the pod's kind. */
static void kind_json(uint32_t pod, char out[MORE_SIZE])
{
	unsigned zone = pod / SCENARIO_GROUP % SCENARIO_ZONES;

	switch (scenario_kind(pod)) {
	case SCENARIO_NODEAFFINITY:
		(void)snprintf(
			out, MORE_SIZE,
			"\"affinity\":{\"nodeAffinity\":{\"requiredDuring"
			"SchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":"
			"[{\"matchExpressions\":[{\"key\":" ZONE
			",\"operator\":\"In\",\"values\":[\"z%u\",\"z%u\"]}]}]}}},",
			zone, (zone + 1) % SCENARIO_ZONES);
		break;
	case SCENARIO_SELECTOR:
		(void)snprintf(out, MORE_SIZE, "\"nodeSelector\":{\"disk\":\"ssd\"},");
		break;
	case SCENARIO_FILL:
	case SCENARIO_HIGH:
		(void)snprintf(out, MORE_SIZE, "\"nodeSelector\":{\"pool\":\"tight\"},");
		break;
	case SCENARIO_TOLERATES:
		(void)snprintf(out, MORE_SIZE,
		               "\"tolerations\":[{\"key\":\"dedicated\",\"operator\":"
		               "\"Exists\",\"effect\":\"NoSchedule\"}],");
		break;
	case SCENARIO_MAINTENANCE:
		toleration_json(pod, out);
		break;
	case SCENARIO_SPREAD_ZONE:
	case SCENARIO_SPREAD_HOST:
	case SCENARIO_AFFINITY:
	case SCENARIO_ANTI_HOST:
	case SCENARIO_ANTI_ZONE:
	case SCENARIO_STATEFUL:
	case SCENARIO_APART_SPREAD:
	case SCENARIO_APART_AFFINITY:
	case SCENARIO_APART_ANTI:
	case SCENARIO_BASIC:
	case SCENARIO_PORT:
	case SCENARIO_GANG:
	case SCENARIO_LARGE:
	case SCENARIO_NEVER:
	case SCENARIO_KINDS:
		break;
	}
}

/* The part of the spec about pods on other nodes. */
static void rule_json(uint32_t pod, char out[MORE_SIZE])
{
	static const char anti[] =
		"\"affinity\":{\"podAntiAffinity\":{\"requiredDuring"
		"SchedulingIgnoredDuringExecution\":[{" SELECT "\"topologyKey\":%s}]}},";
	static const char spread[] =
		"\"topologySpreadConstraints\":[{\"maxSkew\":1,"
		"\"whenUnsatisfiable\":\"DoNotSchedule\"," SELECT "\"topologyKey\":%s}],";
	enum scenario_kind rule = rule_of(pod);
	uint32_t group = scenario_group(pod);

	if (rule == SCENARIO_AFFINITY || rule == SCENARIO_APART_AFFINITY)
		affinity_json(group, out);
	else if (rule == SCENARIO_SPREAD_ZONE || rule == SCENARIO_APART_SPREAD)
		(void)snprintf(out, MORE_SIZE, spread, group, ZONE);
	else if (rule == SCENARIO_SPREAD_HOST)
		(void)snprintf(out, MORE_SIZE, spread, group, HOST);
	else if (rule == SCENARIO_ANTI_HOST || rule == SCENARIO_STATEFUL)
		(void)snprintf(out, MORE_SIZE, anti, group, HOST);
	else
		(void)snprintf(out, MORE_SIZE, anti, group, ZONE);
}

/* Returns the number of the label that rules select the pod by. */
static uint32_t label_of(uint32_t pod)
{
	uint32_t by = scenario_selected_by(pod);

	if (by == UINT32_MAX)
		by = scenario_is_gang(pod) ? scenario_gang(pod) : scenario_group(pod);
	return by;
}

void scenario_pod_json(uint32_t pod, const struct scenario_pod *what,
                       char out[SCENARIO_JSON_SIZE])
{
	enum scenario_kind kind = scenario_kind(pod);
	uint32_t group = scenario_group(pod), owner = owner_of(pod);
	char more[MORE_SIZE] = "", namespace[SCENARIO_NAME_SIZE];
	char gang[160] = "", port[96] = "", found[32] = "";

	scenario_pod_namespace(pod, namespace);
	if (scenario_has_rule(pod, what->incarnation))
		rule_json(pod, more);
	else
		kind_json(pod, more);
	if (scenario_is_gang(pod))
		(void)snprintf(
			gang, sizeof gang,
			",\"placet.io/gang\":\"g-%u\",\"placet.io/gang-min\":\"%u\"%s",
			scenario_gang(pod), scenario_gang_min(scenario_gang(pod)),
			scenario_gang_has_domain(scenario_gang(pod))
				? ",\"placet.io/gang-domain\":" ZONE
				: "");
	if (scenario_is_selected(pod, what->labels))
		(void)snprintf(found, sizeof found, ",\"found\":\"g%u\"", label_of(pod));
	if (kind == SCENARIO_PORT)
		(void)snprintf(port, sizeof port,
		               "\"ports\":[{\"containerPort\":80,\"hostPort\":%u}],",
		               PORT_FIRST + group);
	(void)snprintf(
		out, SCENARIO_JSON_SIZE,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-%u\","
		"\"namespace\":\"%s\",\"uid\":\"u-%u-%u\",\"labels\":{\"app\":\"g%u\",\"kind\":"
		"\"k%u\",\"half\":\"h%u\"%s},"
		"\"annotations\":{\"sim\":\"%u %u %" PRId64 " %" PRId64 " %u\"%s},"
		"\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"%s\","
		"\"name\":\"g%u\",\"uid\":\"o-%u\",\"controller\":true}]},"
		"\"spec\":{%s\"priority\":%d,\"containers\":[{\"name\":\"main\",\"image\":"
		"\"i\",%s\"resources\":{\"requests\":{\"cpu\":\"%" PRId64
		"m\",\"memory\":\"%" PRId64 "Mi\"}}}]}}",
		pod, namespace, pod, what->incarnation, group, (unsigned)kind,
		scenario_half(pod, what->labels), found, what->incarnation, what->version,
		what->cpu_milli, what->memory_mib, what->labels, gang, owner_kind(pod),
		owner, owner, more, scenario_priority(kind), port, what->cpu_milli,
		what->memory_mib);
}

bool scenario_numbers(struct pl_span json, int64_t *out, unsigned count)
{
	static const char word[] = "\"sim\":\"";
	const char *at =
		json.len == 0 ? NULL : memmem(json.at, json.len, word, sizeof word - 1);
	const char *end = (const char *)json.at + json.len;

	if (at == NULL)
		return false;
	at += sizeof word - 1;
	for (unsigned i = 0; i < count; i++) {
		out[i] = 0;
		if (at >= end || *at < '0' || *at > '9')
			return false;
		for (; at < end && *at >= '0' && *at <= '9'; at++)
			out[i] = out[i] * 10 + (*at - '0');
		at++;
	}
	return true;
}

bool scenario_node_read(struct pl_span json, struct scenario_node *out)
{
	static const char cordon[] = "\"unschedulable\":true";
	int64_t number[8];

	if (!scenario_numbers(json, number, 8))
		return false;
	*out = (struct scenario_node){
		.version = (uint32_t)number[0],
		.cpu_milli = number[1],
		.memory_mib = number[2],
		.pods = number[3],
		.tainted = number[4] != 0,
		.closed = number[5] != 0,
		.closed_ms = number[6],
		.zone = number[7] < SCENARIO_ZONES_ALL ? (unsigned)number[7] : 0,
		.cordoned = memmem(json.at, json.len, cordon, sizeof cordon - 1) != NULL};
	return true;
}

bool scenario_pod_read(struct pl_span json, struct scenario_pod *out)
{
	int64_t number[5];

	if (!scenario_numbers(json, number, 5))
		return false;
	*out = (struct scenario_pod){.incarnation = (uint32_t)number[0],
	                             .version = (uint32_t)number[1],
	                             .cpu_milli = number[2],
	                             .memory_mib = number[3],
	                             .labels = (uint32_t)number[4]};
	return true;
}
