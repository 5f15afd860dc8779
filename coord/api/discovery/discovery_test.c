/* Answers of discovery as kubectl and client-go read them. */
#include <stdio.h>

#include "coord/api/discovery/discovery.h"
#include "store/base/arena.h"
#include "store/base/buf.h"
#include "tests/harness/t.h"

struct discovery_rig {
	struct discovery served;
	struct pl_buf text;
	struct pl_json_out out;
};

static void rig_open(struct discovery_rig *rig)
{
	rig->served = (struct discovery){.version = "0.1.0", .address = "127.0.0.1:6443"};
	rig->served.resources = schema_resources(&rig->served.count);
	pl_buf_init(&rig->text, 1 << 20);
	pl_json_out_init(&rig->out, &rig->text);
}

static const char *rig_text(struct discovery_rig *rig)
{
	T_OK(pl_json_out_done(&rig->out), NULL);
	T_OK(pl_buf_add(&rig->text, PL_SPAN_LIT("\0")), NULL);
	return (const char *)rig->text.at;
}

static bool rig_has(struct discovery_rig *rig, const char *text)
{
	if (strstr((const char *)rig->text.at, text) != NULL)
		return true;
	t_note(__FILE__, __LINE__, "no %s in %s", text, (const char *)rig->text.at);
	return false;
}

static void rig_close(struct discovery_rig *rig)
{
	pl_buf_done(&rig->text);
}

T_CASE(the_version_is_that_of_the_api)
{
	struct discovery_rig rig;

	rig_open(&rig);
	discovery_version(&rig.served, &rig.out);
	(void)rig_text(&rig);
	T_TRUE(rig_has(&rig, "{\"major\":\"1\",\"minor\":\"32\",\"gitVersion\":"
	                     "\"v1.32.0+placet-0.1.0\","));
	rig_close(&rig);
}

T_CASE(core_versions_name_the_address)
{
	struct discovery_rig rig;

	rig_open(&rig);
	discovery_core(&rig.served, &rig.out);
	T_STR(rig_text(&rig),
	      "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
	      "\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\","
	      "\"serverAddress\":\"127.0.0.1:6443\"}]}");
	rig_close(&rig);
}

T_CASE(groups_are_listed_once_each)
{
	struct discovery_rig rig;

	rig_open(&rig);
	discovery_groups(&rig.served, &rig.out);
	t_golden("api/discovery_groups.json", rig_text(&rig));
	T_TRUE(strstr((const char *)rig.text.at, "apiextensions") == NULL);
	T_TRUE(strstr((const char *)rig.text.at, "admissionregistration") == NULL);
	rig_close(&rig);
}

T_CASE(one_group_is_found_by_its_name)
{
	struct discovery_rig rig;

	rig_open(&rig);
	T_TRUE(!discovery_group(&rig.served, PL_SPAN_LIT("none"), &rig.out));
	T_TRUE(!discovery_group(&rig.served, PL_SPAN_LIT(""), &rig.out));
	T_EQ(rig.text.len, 0);
	T_TRUE(discovery_group(&rig.served, PL_SPAN_LIT("apps"), &rig.out));
	T_STR(rig_text(&rig),
	      "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"apps\",\"versions\":["
	      "{\"groupVersion\":\"apps/v1\",\"version\":\"v1\"}],\"preferredVersion\":{"
	      "\"groupVersion\":\"apps/v1\",\"version\":\"v1\"}}");
	rig_close(&rig);
}

T_CASE(resources_of_a_version)
{
	struct discovery_rig rig;

	rig_open(&rig);
	T_TRUE(!discovery_resources(&rig.served, PL_SPAN_LIT("apps"), PL_SPAN_LIT("v2"),
	                            &rig.out));
	T_EQ(rig.text.len, 0);
	T_TRUE(discovery_resources(&rig.served, PL_SPAN_LIT(""), PL_SPAN_LIT("v1"),
	                           &rig.out));
	t_golden("api/discovery_core.json", rig_text(&rig));
	T_TRUE(rig_has(&rig,
	               "{\"name\":\"pods/eviction\",\"singularName\":\"\","
	               "\"namespaced\":true,\"group\":\"policy\",\"version\":\"v1\","
	               "\"kind\":\"Eviction\",\"verbs\":[\"create\"]}"));
	rig_close(&rig);
	rig_open(&rig);
	T_TRUE(discovery_resources(&rig.served, PL_SPAN_LIT("apps"), PL_SPAN_LIT("v1"),
	                           &rig.out));
	(void)rig_text(&rig);
	T_TRUE(rig_has(&rig, "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\","
	                     "\"groupVersion\":\"apps/v1\",\"resources\":["));
	T_TRUE(rig_has(&rig, "{\"name\":\"deployments/scale\",\"singularName\":\"\","
	                     "\"namespaced\":true,\"group\":\"autoscaling\",\"version\":"
	                     "\"v1\",\"kind\":\"Scale\","));
	rig_close(&rig);
}

T_CASE(aggregated_discovery_has_everything)
{
	struct discovery_rig rig;

	rig_open(&rig);
	discovery_aggregated(&rig.served, true, false, &rig.out);
	t_golden("api/discovery_aggregated_core.json", rig_text(&rig));
	rig_close(&rig);
	rig_open(&rig);
	discovery_aggregated(&rig.served, false, true, &rig.out);
	(void)rig_text(&rig);
	T_TRUE(rig_has(&rig,
	               "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
	               "\"apidiscovery.k8s.io/v2beta1\",\"metadata\":{},\"items\":[{"
	               "\"metadata\":{\"name\":\"apps\",\"creationTimestamp\":null},"));
	T_TRUE(rig_has(&rig,
	               "{\"subresource\":\"scale\",\"responseKind\":{\"group\":"
	               "\"autoscaling\",\"version\":\"v1\",\"kind\":\"Scale\"},\"verbs\":"
	               "[\"get\",\"patch\",\"update\"]}"));
	T_TRUE(rig_has(&rig, "\"freshness\":\"Current\""));
	T_TRUE(strstr((const char *)rig.text.at, "\"resource\":\"pods\"") == NULL);
	rig_close(&rig);
}

/* Each resource of the table stands in one answer of each kind. */
T_CASE(both_ways_name_the_same_resources)
{
	struct discovery_rig plain, whole;
	char name[160];

	rig_open(&plain);
	for (size_t i = 0; i < plain.served.count; i++) {
		const struct schema_resource *one = &plain.served.resources[i];

		rig_open(&whole);
		discovery_aggregated(&whole.served, one->group[0] == 0, false,
		                     &whole.out);
		(void)rig_text(&whole);
		(void)snprintf(name, sizeof name,
		               "{\"resource\":\"%s\",\"responseKind\":{\"group\":\"%s\"",
		               one->plural, one->group);
		T_TRUE(rig_has(&whole, name));
		rig_close(&whole);
		rig_open(&whole);
		T_TRUE(discovery_resources(&whole.served, pl_span_str(one->group),
		                           pl_span_str(one->version), &whole.out));
		(void)rig_text(&whole);
		(void)snprintf(name, sizeof name, "{\"name\":\"%s\",", one->plural);
		T_TRUE(rig_has(&whole, name));
		rig_close(&whole);
	}
	rig_close(&plain);
}

T_CASE(paths_are_listed)
{
	struct discovery_rig rig;

	rig_open(&rig);
	discovery_paths(&rig.served,
	                (const char *const[]){"/healthz", "/openapi/v2", NULL}, &rig.out);
	(void)rig_text(&rig);
	T_TRUE(rig_has(&rig, "{\"paths\":[\"/api\",\"/api/v1\",\"/apis\",\"/apis/apps\","
	                     "\"/apis/apps/v1\","));
	T_TRUE(rig_has(&rig, "\"/healthz\",\"/openapi/v2\",\"/version\"]}"));
	rig_close(&rig);
}

T_CASE(an_answer_that_is_known_is_not_sent_again)
{
	char etag[DISCOVERY_ETAG_SIZE], other[DISCOVERY_ETAG_SIZE];

	(void)discovery_etag(PL_SPAN_LIT("{}"), etag);
	(void)discovery_etag(PL_SPAN_LIT("[]"), other);
	T_EQ(strlen(etag), 18);
	T_TRUE(strcmp(etag, other) != 0);
	T_TRUE(discovery_etag_matches(pl_span_str(etag), etag));
	T_TRUE(discovery_etag_matches(PL_SPAN_LIT("*"), etag));
	T_TRUE(!discovery_etag_matches(pl_span_str(other), etag));
	T_TRUE(!discovery_etag_matches(PL_SPAN_LIT(""), etag));
}
