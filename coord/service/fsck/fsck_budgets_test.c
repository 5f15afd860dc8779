/* Disruption budgets that do not parse, or allow too much. */
#include "tests/support/coord/service/fsck/fsck_fixture.h"

/* Over all pods of web: a and b are healthy there. */
static void put_budget(unsigned desired, unsigned healthy, unsigned allowed)
{
	char json[TEXT_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"budget\":{\"apiVersion\":\"policy/v1\",\"kind\":"
	               "\"PodDisruptionBudget\",\"metadata\":{\"namespace\":\"web\","
	               "\"name\":\"b\"},\"spec\":{\"minAvailable\":%u,\"selector\":{}}},"
	               "\"status\":{\"expected\":3,\"desired\":%u,\"healthy\":%u,"
	               "\"allowed\":%u}}",
	               desired, desired, healthy, allowed);
	(void)kit_put(&kit, "/budgets/web/b", json);
}

T_CASE(budget_malformed)
{
	up();
	(void)kit_put(&kit, "/budgets/web/b", "{\"v\":1}");
	finds(FSCK_BUDGET_MALFORMED, 1);
	/* More than the rest of the budget allows. */
	put_budget(1, 2, 2);
	finds(FSCK_BUDGET_MALFORMED, 1);
	mends_not();
}

T_CASE(a_budget_that_allows_more_than_its_pods)
{
	up();
	put_budget(1, 2, 1);
	clean();
	/* As if there had been a third pod. */
	put_budget(1, 3, 2);
	finds(FSCK_BUDGET_BEHIND, 1);
	T_EQ(fsck_core_counts(fsck_core(fsck))->violations, 0);
	put_budget(1, 2, 1);
	put_state("web", "b",
	          "{\"v\":1,\"phase\":\"Bound\",\"ask\":\"evict\",\"cluster\":\"east\","
	          "\"node\":\"n-0\",\"shard\":\"s\",\"epoch\":\"1\","
	          "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	finds(FSCK_BUDGET_BEHIND, 1);
	put_budget(1, 1, 0);
	clean();
	down();
}
