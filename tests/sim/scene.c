#include "tests/sim/scene.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/timestamp.h"

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
	CARRIERS = 3,
	PRIORITY_LOW = -10,
	PRIORITY_HIGH = 1000,
};

#define SCENE_KIND_TEXT(kind, text) [SCENE_##kind] = (text),
const char *const scene_kind_text[SCENE_KINDS] = {SCENE_KIND_MAP(SCENE_KIND_TEXT)};

/* -- what follows from a number ------------------------------------------ */

enum scene_kind scene_kind(uint32_t pod)
{
	return (enum scene_kind)(pod / SCENE_GROUP % SCENE_KINDS);
}

/* Three zones are asked for of four. */
uint32_t scene_group(uint32_t pod)
{
	enum scene_kind kind = scene_kind(pod);
	bool threes = kind == SCENE_ANTI_ZONE || kind == SCENE_APART_ANTI;

	if (kind == SCENE_LARGE)
		return scene_gang(pod);
	return threes ? 1000000 + pod / 3 : pod / SCENE_GROUP;
}

uint32_t scene_gang(uint32_t pod)
{
	uint32_t row = pod / SCENE_GROUP, turn = row / SCENE_KINDS;

	if (scene_kind(pod) != SCENE_LARGE)
		return row;
	return row - turn % SCENE_LARGE_ROWS * SCENE_KINDS;
}

uint32_t scene_gang_pods(uint32_t gang, uint32_t pods, uint32_t out[SCENE_GANG_PODS])
{
	uint32_t first = gang * SCENE_GROUP, count = 0;
	unsigned rows = scene_kind(first) == SCENE_LARGE ? SCENE_LARGE_ROWS : 1;

	for (unsigned row = 0; row < rows; row++)
		for (uint32_t i = 0; i < SCENE_GROUP; i++) {
			uint32_t pod = first + row * SCENE_KINDS * SCENE_GROUP + i;

			if (pod < pods)
				out[count++] = pod;
		}
	return count;
}

uint32_t scene_gang_min(uint32_t gang)
{
	return scene_kind(gang * SCENE_GROUP) == SCENE_LARGE ? SCENE_LARGE_MIN
	                                                     : SCENE_GANG_MIN;
}

/* The smallest worlds have a large one with the first, and others with the second and the
 * third. */
enum scene_kind scene_gang_rule(uint32_t gang)
{
	static const enum scene_kind rules[] = {SCENE_SPREAD_ZONE, SCENE_AFFINITY,
	                                        SCENE_BASIC};
	uint32_t turn = gang / SCENE_KINDS;

	if (scene_kind(gang * SCENE_GROUP) == SCENE_LARGE)
		return rules[turn / SCENE_LARGE_ROWS % 3];
	return rules[(turn + 1) % 3];
}

bool scene_gang_has_domain(uint32_t gang)
{
	return scene_kind(gang * SCENE_GROUP) == SCENE_GANG &&
	       scene_gang_rule(gang) == SCENE_BASIC;
}

/* Those without a rule of the first row, the second, the third. */
uint32_t scene_found_by(uint32_t pod)
{
	static const uint32_t first[] = {SCENE_LARGE, SCENE_GANG,
	                                 SCENE_KINDS + SCENE_GANG};
	uint32_t row = pod / SCENE_GROUP, turn = row / SCENE_KINDS;
	uint32_t gang = first[turn % 3] + turn / 3 * 3 * SCENE_KINDS;

	if (scene_kind(pod) != SCENE_BASIC || gang % SCENE_SPACES != row % SCENE_SPACES)
		return UINT32_MAX;
	return gang;
}

static bool is_apart(enum scene_kind kind)
{
	return kind == SCENE_APART_SPREAD || kind == SCENE_APART_AFFINITY ||
	       kind == SCENE_APART_ANTI;
}

/* What its kind has about pods on other nodes; of a gang, that of the gang. BASIC:
 * nothing. */
static enum scene_kind rule_of(uint32_t pod)
{
	enum scene_kind kind = scene_kind(pod);

	switch (kind) {
	case SCENE_SPREAD_ZONE:
	case SCENE_SPREAD_HOST:
	case SCENE_AFFINITY:
	case SCENE_ANTI_HOST:
	case SCENE_ANTI_ZONE:
	case SCENE_STATEFUL:
	case SCENE_APART_SPREAD:
	case SCENE_APART_AFFINITY:
	case SCENE_APART_ANTI:
		return kind;
	case SCENE_GANG:
	case SCENE_LARGE:
		return scene_gang_rule(scene_gang(pod));
	case SCENE_BASIC:
	case SCENE_NODEAFFINITY:
	case SCENE_SELECTOR:
	case SCENE_TOLERATES:
	case SCENE_PORT:
	case SCENE_FILL:
	case SCENE_HIGH:
	case SCENE_BEARS:
	case SCENE_NEVER:
	case SCENE_KINDS:
		break;
	}
	return SCENE_BASIC;
}

/* Who requires others of its label can be the first only when it has that label. */
static bool needs_itself(uint32_t pod)
{
	enum scene_kind rule = rule_of(pod);

	return rule == SCENE_AFFINITY || rule == SCENE_APART_AFFINITY;
}

/* First they are found and carry it, then neither, then the one, then the other. */
bool scene_is_carrier(uint32_t pod, uint32_t life)
{
	uint32_t look = life % SCENE_LOOKS;

	if (rule_of(pod) == SCENE_BASIC)
		return false;
	if (scene_is_gang(pod))
		return true;
	if (scene_kind(pod) == SCENE_APART_SPREAD && pod % SCENE_GROUP >= CARRIERS)
		return false;
	return look == 0 || (look == 3 && !needs_itself(pod));
}

bool scene_is_found(uint32_t pod, uint32_t life)
{
	if (rule_of(pod) == SCENE_BASIC)
		return scene_is_gang(pod) ||
		       (scene_found_by(pod) != UINT32_MAX && (pod + life) % 2 == 0);
	return life % 2 == 0 || (scene_is_gang(pod) && needs_itself(pod));
}

unsigned scene_half(uint32_t pod, uint32_t life)
{
	return (pod + life) % 2;
}

unsigned scene_bears_s(uint32_t pod)
{
	unsigned turn = pod / SCENE_GROUP / SCENE_KINDS % 3;

	if (scene_kind(pod) != SCENE_BEARS)
		return 0;
	return turn == 2 ? SCENE_FOR_EVER : 2 + 4 * turn;
}

int32_t scene_priority(enum scene_kind kind)
{
	if (kind == SCENE_HIGH)
		return PRIORITY_HIGH;
	return kind == SCENE_FILL ? PRIORITY_LOW : 0;
}

bool scene_must_fit(enum scene_kind kind)
{
	return kind != SCENE_NEVER && kind != SCENE_FILL;
}

bool scene_is_ssd(uint32_t node)
{
	return node % 3 == 0;
}

bool scene_is_tight(uint32_t node)
{
	return node % 20 == 7;
}

bool scene_stays_closed(uint32_t node)
{
	return node % 15 == 11;
}

bool scene_wants_zone(uint32_t pod, unsigned zone)
{
	unsigned first = pod / SCENE_GROUP % SCENE_ZONES;

	return zone == first || zone == (first + 1) % SCENE_ZONES;
}

struct scene_node scene_node_first(const struct scene *scene, uint32_t node)
{
	bool extra = node >= scene->nodes;

	return (struct scene_node){.cpu_milli = extra ? EXTRA_CPU : NODE_CPU,
	                           .memory_mib = extra ? EXTRA_MIB : NODE_MIB,
	                           .pods = extra ? EXTRA_PODS : NODE_PODS,
	                           .zone = node % SCENE_ZONES,
	                           .tainted = !extra && node % 15 == 4};
}

struct scene_pod scene_pod_first(uint32_t pod)
{
	static const int64_t cpu[] = {100, 250, 400, 700};
	enum scene_kind kind = scene_kind(pod);
	struct scene_pod what = {.cpu_milli = cpu[pod / SCENE_GROUP % 4],
	                         .memory_mib = 128 + pod / SCENE_GROUP % 3 * 128};

	if (kind == SCENE_NEVER)
		what.cpu_milli = NEVER_CPU;
	if (kind == SCENE_FILL)
		what.cpu_milli = 1100;
	if (kind == SCENE_HIGH)
		what.cpu_milli = 300;
	return what;
}

/* -- names ----------------------------------------------------------------- */

void scene_node_cluster(const struct scene *scene, uint32_t node,
                        char out[SCENE_NAME_SIZE])
{
	(void)snprintf(out, SCENE_NAME_SIZE, "c%u", node / SCENE_ZONES % scene->clusters);
}

void scene_node_name(uint32_t node, char out[SCENE_NAME_SIZE])
{
	(void)snprintf(out, SCENE_NAME_SIZE, "n-%u", node);
}

void scene_pod_space(uint32_t pod, char out[SCENE_NAME_SIZE])
{
	uint32_t row = scene_is_gang(pod) ? scene_gang(pod) : pod / SCENE_GROUP;

	(void)snprintf(out, SCENE_NAME_SIZE, "ns%u", row % SCENE_SPACES);
}

void scene_gang_name(uint32_t gang, char out[SCENE_NAME_SIZE])
{
	(void)snprintf(out, SCENE_NAME_SIZE, "g-%u", gang);
}

void scene_gang_space(uint32_t gang, char out[SCENE_NAME_SIZE])
{
	scene_pod_space(gang * SCENE_GROUP, out);
}

void scene_pod_name(uint32_t pod, char out[SCENE_NAME_SIZE])
{
	(void)snprintf(out, SCENE_NAME_SIZE, "p-%u", pod);
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

uint32_t scene_node_of(const struct scene *scene, struct pl_span cluster,
                       struct pl_span name)
{
	uint32_t node = number_of(name, 'n', scene->nodes + scene->extra);
	char want[SCENE_NAME_SIZE];

	if (node == UINT32_MAX)
		return node;
	scene_node_cluster(scene, node, want);
	return pl_span_eq(cluster, pl_span_str(want)) ? node : UINT32_MAX;
}

uint32_t scene_pod_of(const struct scene *scene, struct pl_span namespace,
                      struct pl_span name)
{
	uint32_t pod = number_of(name, 'p', scene->pods);
	char want[SCENE_NAME_SIZE];

	if (pod == UINT32_MAX)
		return pod;
	scene_pod_space(pod, want);
	return pl_span_eq(namespace, pl_span_str(want)) ? pod : UINT32_MAX;
}

uint32_t scene_gang_of(struct pl_span namespace, struct pl_span name, uint32_t pods)
{
	uint32_t gang = number_of(name, 'g', pods / SCENE_GROUP + 1);
	char want[SCENE_NAME_SIZE];

	if (gang == UINT32_MAX || !scene_is_gang(gang * SCENE_GROUP) ||
	    scene_gang(gang * SCENE_GROUP) != gang)
		return UINT32_MAX;
	scene_gang_space(gang, want);
	return pl_span_eq(namespace, pl_span_str(want)) ? gang : UINT32_MAX;
}

/* -- JSON -------------------------------------------------------------------- */

static void taints_json(const struct scene_node *what, char out[TAINTS_SIZE])
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

/* Nodes may be called alike by their hosts, as those of two clusters are. */
void scene_node_json(const struct scene *scene, uint32_t node,
                     const struct scene_node *what, char out[SCENE_JSON_SIZE])
{
	char cluster[SCENE_NAME_SIZE], taints[TAINTS_SIZE];

	scene_node_cluster(scene, node, cluster);
	taints_json(what, taints);
	(void)snprintf(
		out, SCENE_JSON_SIZE,
		"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
		"\"n-%u\",\"labels\":{\"kubernetes.io/hostname\":\"n-%u\","
		"\"topology.kubernetes.io/zone\":\"z%u\",\"cluster\":\"%s\",\"disk\":"
		"\"%s\",\"pool\":\"%s\"},\"annotations\":{\"sim\":\"%u %" PRId64
		" %" PRId64 " %" PRId64 " %d %d %" PRId64
		" %u\"}},\"spec\":{\"unschedulable\":%s%s},"
		"\"status\":{\"allocatable\":{\"cpu\":\"%" PRId64
		"m\",\"memory\":\"%" PRId64 "Mi\",\"pods\":\"%" PRId64 "\"}}}",
		node, node / 2, what->zone, cluster, scene_is_ssd(node) ? "ssd" : "hdd",
		scene_is_tight(node) ? "tight" : "wide", what->version, what->cpu_milli,
		what->memory_mib, what->pods, what->tainted, what->closed,
		what->closed_ms, what->zone, what->cordoned ? "true" : "false", taints,
		what->cpu_milli, what->memory_mib, what->pods);
}

#define SELECT "\"labelSelector\":{\"matchLabels\":{\"found\":\"g%u\"}},"
#define ZONE "\"topology.kubernetes.io/zone\""
#define HOST "\"kubernetes.io/hostname\""

static void bears_json(uint32_t pod, char out[MORE_SIZE])
{
	unsigned bears_s = scene_bears_s(pod);
	char seconds[40] = "";

	if (bears_s != SCENE_FOR_EVER)
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

/* What of the spec makes its kind. */
static void kind_json(uint32_t pod, char out[MORE_SIZE])
{
	unsigned zone = pod / SCENE_GROUP % SCENE_ZONES;

	switch (scene_kind(pod)) {
	case SCENE_NODEAFFINITY:
		(void)snprintf(
			out, MORE_SIZE,
			"\"affinity\":{\"nodeAffinity\":{\"requiredDuring"
			"SchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":"
			"[{\"matchExpressions\":[{\"key\":" ZONE
			",\"operator\":\"In\",\"values\":[\"z%u\",\"z%u\"]}]}]}}},",
			zone, (zone + 1) % SCENE_ZONES);
		break;
	case SCENE_SELECTOR:
		(void)snprintf(out, MORE_SIZE, "\"nodeSelector\":{\"disk\":\"ssd\"},");
		break;
	case SCENE_FILL:
	case SCENE_HIGH:
		(void)snprintf(out, MORE_SIZE, "\"nodeSelector\":{\"pool\":\"tight\"},");
		break;
	case SCENE_TOLERATES:
		(void)snprintf(out, MORE_SIZE,
		               "\"tolerations\":[{\"key\":\"dedicated\",\"operator\":"
		               "\"Exists\",\"effect\":\"NoSchedule\"}],");
		break;
	case SCENE_BEARS:
		bears_json(pod, out);
		break;
	case SCENE_SPREAD_ZONE:
	case SCENE_SPREAD_HOST:
	case SCENE_AFFINITY:
	case SCENE_ANTI_HOST:
	case SCENE_ANTI_ZONE:
	case SCENE_STATEFUL:
	case SCENE_APART_SPREAD:
	case SCENE_APART_AFFINITY:
	case SCENE_APART_ANTI:
	case SCENE_BASIC:
	case SCENE_PORT:
	case SCENE_GANG:
	case SCENE_LARGE:
	case SCENE_NEVER:
	case SCENE_KINDS:
		break;
	}
}

/* What of the spec is about pods on other nodes. */
static void rule_json(uint32_t pod, char out[MORE_SIZE])
{
	static const char anti[] =
		"\"affinity\":{\"podAntiAffinity\":{\"requiredDuring"
		"SchedulingIgnoredDuringExecution\":[{" SELECT "\"topologyKey\":%s}]}},";
	static const char spread[] =
		"\"topologySpreadConstraints\":[{\"maxSkew\":1,"
		"\"whenUnsatisfiable\":\"DoNotSchedule\"," SELECT "\"topologyKey\":%s}],";
	enum scene_kind rule = rule_of(pod);
	uint32_t group = scene_group(pod);

	if (rule == SCENE_AFFINITY || rule == SCENE_APART_AFFINITY)
		affinity_json(group, out);
	else if (rule == SCENE_SPREAD_ZONE || rule == SCENE_APART_SPREAD)
		(void)snprintf(out, MORE_SIZE, spread, group, ZONE);
	else if (rule == SCENE_SPREAD_HOST)
		(void)snprintf(out, MORE_SIZE, spread, group, HOST);
	else if (rule == SCENE_ANTI_HOST || rule == SCENE_STATEFUL)
		(void)snprintf(out, MORE_SIZE, anti, group, HOST);
	else
		(void)snprintf(out, MORE_SIZE, anti, group, ZONE);
}

/* By which rules find it. */
static uint32_t label_of(uint32_t pod)
{
	uint32_t by = scene_found_by(pod);

	if (by == UINT32_MAX)
		by = scene_is_gang(pod) ? scene_gang(pod) : scene_group(pod);
	return by;
}

void scene_pod_json(uint32_t pod, const struct scene_pod *what, char out[SCENE_JSON_SIZE])
{
	enum scene_kind kind = scene_kind(pod);
	uint32_t group = scene_group(pod), owner = is_apart(kind) ? pod : group;
	char more[MORE_SIZE] = "", namespace[SCENE_NAME_SIZE];
	char gang[160] = "", port[96] = "", found[32] = "";

	scene_pod_space(pod, namespace);
	if (scene_is_carrier(pod, what->life))
		rule_json(pod, more);
	else
		kind_json(pod, more);
	if (scene_is_gang(pod))
		(void)snprintf(
			gang, sizeof gang,
			",\"placet.io/gang\":\"g-%u\",\"placet.io/gang-min\":\"%u\"%s",
			scene_gang(pod), scene_gang_min(scene_gang(pod)),
			scene_gang_has_domain(scene_gang(pod))
				? ",\"placet.io/gang-domain\":" ZONE
				: "");
	if (scene_is_found(pod, what->life))
		(void)snprintf(found, sizeof found, ",\"found\":\"g%u\"", label_of(pod));
	if (kind == SCENE_PORT)
		(void)snprintf(port, sizeof port,
		               "\"ports\":[{\"containerPort\":80,\"hostPort\":%u}],",
		               PORT_FIRST + group);
	(void)snprintf(
		out, SCENE_JSON_SIZE,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-%u\","
		"\"namespace\":\"%s\",\"uid\":\"u-%u-%u\",\"labels\":{\"app\":\"g%u\",\"kind\":"
		"\"k%u\",\"half\":\"h%u\"%s},"
		"\"annotations\":{\"sim\":\"%u %u %" PRId64 " %" PRId64 "\"%s},"
		"\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"%s\","
		"\"name\":\"g%u\",\"uid\":\"o-%u\",\"controller\":true}]},"
		"\"spec\":{%s\"priority\":%d,\"containers\":[{\"name\":\"main\",\"image\":"
		"\"i\",%s\"resources\":{\"requests\":{\"cpu\":\"%" PRId64
		"m\",\"memory\":\"%" PRId64 "Mi\"}}}]}}",
		pod, namespace, pod, what->life, group, (unsigned)kind,
		scene_half(pod, what->life), found, what->life, what->version,
		what->cpu_milli, what->memory_mib, gang,
		kind == SCENE_STATEFUL ? "StatefulSet" : "ReplicaSet", owner, owner, more,
		scene_priority(kind), port, what->cpu_milli, what->memory_mib);
}

bool scene_numbers(struct pl_span json, int64_t *out, unsigned count)
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

bool scene_node_read(struct pl_span json, struct scene_node *out)
{
	static const char cordon[] = "\"unschedulable\":true";
	int64_t number[8];

	if (!scene_numbers(json, number, 8))
		return false;
	*out = (struct scene_node){
		.version = (uint32_t)number[0],
		.cpu_milli = number[1],
		.memory_mib = number[2],
		.pods = number[3],
		.tainted = number[4] != 0,
		.closed = number[5] != 0,
		.closed_ms = number[6],
		.zone = number[7] < SCENE_ZONES_ALL ? (unsigned)number[7] : 0,
		.cordoned = memmem(json.at, json.len, cordon, sizeof cordon - 1) != NULL};
	return true;
}

bool scene_pod_read(struct pl_span json, struct scene_pod *out)
{
	int64_t number[4];

	if (!scene_numbers(json, number, 4))
		return false;
	*out = (struct scene_pod){.life = (uint32_t)number[0],
	                          .version = (uint32_t)number[1],
	                          .cpu_milli = number[2],
	                          .memory_mib = number[3]};
	return true;
}
