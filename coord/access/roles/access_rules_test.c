#include <stdio.h>

#include "coord/access/roles/access_rules.h"
#include "tests/harness/t.h"

/* "get core/pods/status a" or "get /metrics". */
static struct access_attributes asked(const char *text)
{
	static char parts[5][64];
	struct access_attributes out = {.is_resource = true};

	memset(parts, 0, sizeof parts);
	if (strstr(text, " /") != NULL) {
		T_EQ(sscanf(text, "%63s %63s", parts[0], parts[1]), 2);
		return (struct access_attributes){.verb = pl_span_str(parts[0]),
		                                  .path = pl_span_str(parts[1])};
	}
	T_TRUE(sscanf(text, "%63s %63[^/ ]/%63[^/ ]/%63[^ ] %63s", parts[0], parts[1],
	              parts[2], parts[3], parts[4]) >= 3 ||
	       sscanf(text, "%63s %63[^/ ]/%63[^/ ] %63s", parts[0], parts[1], parts[2],
	              parts[4]) >= 3);
	if (parts[3][0] == 0)
		(void)sscanf(text, "%*s %*s %63s", parts[4]);
	out.verb = pl_span_str(parts[0]);
	if (strcmp(parts[1], "core") != 0)
		out.group = pl_span_str(parts[1]);
	out.resource = pl_span_str(parts[2]);
	out.subresource = pl_span_str(parts[3]);
	out.name = pl_span_str(parts[4]);
	return out;
}

/* The letters of the roles that give it: v e o a c; "-": none. */
static void given(const char *text, const char *letters)
{
	static const char all[ACCESS_ROLE_COUNT + 1] = "veoac";
	struct access_attributes attributes = asked(text);
	char got[ACCESS_ROLE_COUNT + 2] = "";
	size_t len = 0;

	for (unsigned i = 0; i < ACCESS_ROLE_COUNT; i++)
		if (access_role_gives((enum access_role)i, &attributes))
			got[len++] = all[i];
	got[len] = 0;
	if (strcmp(len == 0 ? "-" : got, letters) != 0)
		t_fail(__FILE__, __LINE__, "%s: given by '%s', want '%s'", text, got,
		       letters);
}

T_CASE(every_role_reads_but_the_connector)
{
	given("list core/pods", "veoa");
	given("get core/pods", "veoac");
	given("watch core/nodes", "veoa");
	given("get apps/deployments/scale x", "veoa");
	given("get core/pods/status x", "veoac");
	given("get core/pods/log x", "veoa");
	given("list placet.io/configs", "veoa");
	given("get placet.io/configs access", "veoa");
	given("get placet.io/explanations x", "veoa");
	given("list rbac.authorization.k8s.io/roles", "veoa");
}

T_CASE(tokens_are_the_admins)
{
	given("get placet.io/tokens x", "a");
	given("list placet.io/tokens", "a");
	given("watch placet.io/tokens", "a");
	given("create placet.io/tokens", "a");
	given("delete placet.io/tokens x", "a");
	/* Another group's resource of that name is another one. */
	given("get example.io/tokens x", "veoa");
}

T_CASE(editors_write_workloads)
{
	given("create core/pods", "eoa");
	given("delete core/pods x", "eoa");
	given("deletecollection core/pods", "eoa");
	given("create core/pods/eviction x", "eoa");
	given("patch apps/deployments x", "eoa");
	given("update apps/statefulsets/scale x", "eoa");
	given("create batch/jobs", "eoa");
	given("create policy/poddisruptionbudgets", "eoa");
	given("create core/events", "eoa");
	given("update coordination.k8s.io/leases x", "eoa");
	given("create placet.io/plans", "eoa");
	given("create core/pods/binding x", "oac");
	given("create core/bindings", "oa");
	given("update core/pods/status x", "oac");
	given("create core/pods/exec x", "a");
	given("get core/pods/exec x", "a");
	given("create core/namespaces", "oa");
	given("create core/serviceaccounts/token x", "a");
}

T_CASE(operators_run_the_federation)
{
	given("patch core/nodes x", "oa");
	given("update core/nodes/status x", "oac");
	given("delete core/nodes x", "oa");
	given("update placet.io/shards x", "oa");
	given("delete placet.io/shards x", "oa");
	given("update placet.io/configs scheduler", "oa");
	given("patch placet.io/configs coord", "oa");
	given("create storage.k8s.io/storageclasses", "oa");
	given("create scheduling.k8s.io/priorityclasses", "oa");
	given("update core/namespaces/finalize x", "oa");
	given("get /metrics", "oa");
	given("get /debug/profile", "oa");
	given("put /debug/loglevel", "oa");
	given("get /debugger", "a");
	given("create authorization.k8s.io/subjectaccessreviews", "oa");
	given("create authentication.k8s.io/tokenreviews", "a");
}

T_CASE(who_may_what_is_the_admins)
{
	given("update placet.io/configs access", "a");
	given("patch placet.io/configs access", "a");
	given("update placet.io/configs", "a");
	given("deletecollection placet.io/configs", "a");
	given("delete placet.io/configs access", "a");
	given("impersonate core/users x", "a");
	given("impersonate core/groups system:masters", "a");
	given("impersonate authentication.k8s.io/uids x", "a");
	given("impersonate authentication.k8s.io/userextras/scopes x", "a");
	given("escalate rbac.authorization.k8s.io/roles x", "a");
}

T_CASE(a_star_is_every_resource_but_no_subresource)
{
	given("get core/pods/proxy x", "a");
	given("get core/pods/attach x", "a");
	given("get core/nodes/proxy x", "a");
}

T_CASE(every_user_may_ask_about_himself)
{
	static const char *const may[] = {
		"create authorization.k8s.io/selfsubjectaccessreviews",
		"create authorization.k8s.io/selfsubjectrulesreviews",
		"create authentication.k8s.io/selfsubjectreviews",
		"get /api",
		"get /apis/apps/v1",
		"get /openapi/v2",
		"get /version",
	};
	static const char *const may_not[] = {
		"create authorization.k8s.io/subjectaccessreviews",
		"get /metrics",
		"get /statusz",
		"post /api",
		"get /apix",
		"get core/pods",
	};

	for (size_t i = 0; i < sizeof may / sizeof *may; i++) {
		struct access_attributes attributes = asked(may[i]);

		T_TRUE(access_rules_give(access_basic_rules(), &attributes));
	}
	for (size_t i = 0; i < sizeof may_not / sizeof *may_not; i++) {
		struct access_attributes attributes = asked(may_not[i]);

		T_TRUE(!access_rules_give(access_basic_rules(), &attributes));
	}
}

T_CASE(roles_have_names)
{
	enum access_role role = ACCESS_VIEWER;

	for (unsigned i = 0; i < ACCESS_ROLE_COUNT; i++) {
		T_TRUE(access_role_parse(
			pl_span_str(access_role_text((enum access_role)i)), &role));
		T_EQ(role, i);
	}
	T_TRUE(!access_role_parse(PL_SPAN_LIT("root"), &role));
	T_TRUE(!access_role_parse((struct pl_span){0}, &role));
}
