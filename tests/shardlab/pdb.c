#include "tests/shardlab/pdb.h"

#include <stdlib.h>
#include <string.h>

enum { SPACES = 3, WAYS = 6, LOW_WAYS = 2 };

/* Returns the first pod of the group. */
static uint32_t pod_of_group(uint32_t group)
{
	return group * SCENARIO_GROUP;
}

static bool is_whole(unsigned budget)
{
	return budget % WAYS == WAYS - 1;
}

/* The first budgets cover groups of the two kinds with low priority, each another group,
 * since few pods are preempted; the others cover groups of any kind. The second group is
 * another one of the same namespace. */
static uint32_t first_group(unsigned budget)
{
	uint32_t turn = budget / WAYS * LOW_WAYS + budget % WAYS;

	return budget % WAYS < LOW_WAYS ? SCENARIO_FILL + SCENARIO_KINDS * turn
	                                : budget * 2;
}

static uint32_t second_group(unsigned budget)
{
	return budget % 2 == 0 ? first_group(budget)
	                       : first_group(budget) + 2 * SPACES * (1 + budget % 3);
}

void pdb_name(unsigned budget, char out[SCENARIO_NAME_SIZE])
{
	(void)snprintf(out, SCENARIO_NAME_SIZE, "b-%u", budget);
}

void pdb_namespace(unsigned budget, char out[SCENARIO_NAME_SIZE])
{
	scenario_pod_namespace(pod_of_group(first_group(budget)), out);
}

unsigned pdb_of(struct pl_span namespace, struct pl_span name)
{
	char want[SCENARIO_NAME_SIZE];

	for (unsigned budget = 0; budget < PDB_COUNT; budget++) {
		pdb_name(budget, want);
		if (!pl_span_eq(name, pl_span_str(want)))
			continue;
		pdb_namespace(budget, want);
		return pl_span_eq(namespace, pl_span_str(want)) ? budget : PDB_COUNT;
	}
	return PDB_COUNT;
}

bool pdb_covers(unsigned budget, uint32_t pod)
{
	uint32_t first = pod_of_group(first_group(budget));
	uint32_t second = pod_of_group(second_group(budget));
	char namespace[SCENARIO_NAME_SIZE], other[SCENARIO_NAME_SIZE];

	scenario_pod_namespace(pod, namespace);
	scenario_pod_namespace(first, other);
	if (strcmp(namespace, other) != 0)
		return false;
	return is_whole(budget) || scenario_group(pod) == scenario_group(first) ||
	       scenario_group(pod) == scenario_group(second);
}

static void selector(unsigned budget, char *out, size_t size)
{
	uint32_t first = scenario_group(pod_of_group(first_group(budget)));
	uint32_t second = scenario_group(pod_of_group(second_group(budget)));

	if (is_whole(budget))
		(void)snprintf(out, size, "{}");
	else if (first == second)
		(void)snprintf(out, size, "{\"matchLabels\":{\"app\":\"g%u\"}}", first);
	else
		(void)snprintf(out, size,
		               "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":"
		               "\"In\",\"values\":[\"g%u\",\"g%u\"]}]}",
		               first, second);
}

void pdb_json(unsigned budget, unsigned rule, char out[PDB_JSON_SIZE])
{
	static const char *const rules[PDB_RULES] = {
		"\"minAvailable\":3",       "\"maxUnavailable\":1",
		"\"minAvailable\":\"60%\"", "\"maxUnavailable\":\"30%\"",
		"\"maxUnavailable\":2",     "\"minAvailable\":\"100%\"",
		"\"maxUnavailable\":0"};
	char name[SCENARIO_NAME_SIZE], namespace[SCENARIO_NAME_SIZE], select[128];

	pdb_name(budget, name);
	pdb_namespace(budget, namespace);
	selector(budget, select, sizeof select);
	(void)snprintf(out, PDB_JSON_SIZE,
	               "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
	               "\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{%s,"
	               "\"selector\":%s}}",
	               name, namespace, rules[rule], select);
}
