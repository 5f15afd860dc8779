/* Input that no cluster should contain is refused with its field or ignored, and nothing
 * else changes. */
#include <stdlib.h>

#include "store/base/buf.h"
#include "tests/support/shardsched/engine/engine_rig.h"

static struct engine_rig rig;

static void begin(void)
{
	rig_open(&rig, &(struct engine_opts){.unique = true});
	rig_node(&rig, "good", "4");
	rig_pod(&rig, "sitter", "1", "good");
}

/* The engine is as before. */
static void end(void)
{
	T_EQ(engine_snapshot(rig.engine)->nodes, 1);
	T_EQ(rig_pods_on(&rig, "good"), 1);
	T_EQ(engine_pods(rig.engine), 1);
	T_STR(rig_decide(&rig, rig_pod_json("x", "3", "", "")), "good");
	T_STR(rig_decide(&rig, rig_pod_json("x", "4", "", "")), "");
	rig_close(&rig);
}

static void refused(enum engine_kind kind, const char *json, enum pl_code want,
                    const char *field)
{
	T_CODE(rig_try(&rig, kind, json), want, &rig.err);
	if (strstr(rig.err.msg, field) == NULL)
		t_fail(__FILE__, __LINE__, "'%s' does not name %s", rig.err.msg, field);
}

T_CASE(deep_json_is_refused)
{
	char *deep = calloc(1, 200001);

	begin();
	memset(deep, '[', 100000);
	memset(deep + 100000, ']', 100000);
	refused(ENGINE_NODE, deep, PL_LIMIT, "deep");
	refused(ENGINE_POD, deep, PL_LIMIT, "deep");
	refused(ENGINE_POD, "{\"metadata\":", PL_INVALID, "");
	refused(ENGINE_POD, "[]", PL_INVALID, "object");
	refused(ENGINE_POD, "", PL_INVALID, "");
	free(deep);
	end();
}

T_CASE(huge_documents_are_refused)
{
	struct pl_buf buf;

	begin();
	pl_buf_init(&buf, 16 << 20);
	T_OK(pl_buf_add_str(&buf, "{\"metadata\":{\"name\":\"big\",\"x\":\""), NULL);
	for (unsigned i = 0; i < (4 << 20); i += 1024) {
		char chunk[1025];

		memset(chunk, 'x', 1024);
		chunk[1024] = 0;
		T_OK(pl_buf_add_str(&buf, chunk), NULL);
	}
	T_OK(pl_buf_add_str(&buf, "\"}}"), NULL);
	T_CODE(engine_put(rig.engine, ENGINE_NODE, pl_buf_span(&buf), NULL, &rig.err),
	       PL_LIMIT, NULL);
	pl_buf_done(&buf);
	end();
}

T_CASE(ten_thousand_labels_are_refused)
{
	struct pl_buf buf;

	begin();
	pl_buf_init(&buf, 16 << 20);
	T_OK(pl_buf_add_str(&buf, "{\"metadata\":{\"name\":\"many\",\"labels\":{"), NULL);
	for (unsigned i = 0; i < 10000; i++)
		T_OK(pl_buf_printf(&buf, "%s\"k%u\":\"v\"", i > 0 ? "," : "", i), NULL);
	T_OK(pl_buf_add_str(&buf, "}}}"), NULL);
	T_CODE(engine_put(rig.engine, ENGINE_NODE, pl_buf_span(&buf), NULL, &rig.err),
	       PL_LIMIT, NULL);
	T_TRUE(strstr(rig.err.msg, "metadata.labels") != NULL);
	T_CODE(engine_put(rig.engine, ENGINE_POD, pl_buf_span(&buf), NULL, &rig.err),
	       PL_LIMIT, NULL);
	T_TRUE(strstr(rig.err.msg, "metadata.labels") != NULL);
	pl_buf_done(&buf);
	end();
}

T_CASE(missing_or_taken_names_are_refused)
{
	begin();
	refused(ENGINE_NODE, "{}", PL_INVALID, "metadata.name");
	refused(ENGINE_POD, "{\"metadata\":{\"generateName\":\"x-\"}}", PL_INVALID,
	        "metadata.name");
	refused(ENGINE_CLAIM, "{\"metadata\":{}}", PL_INVALID, "metadata.name");
	refused(ENGINE_NODE, "{\"metadata\":{\"name\":\"good\"}}", PL_EXISTS, "good");
	refused(ENGINE_POD,
	        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"sitter\"}}",
	        PL_EXISTS, "sitter");
	rig_put(&rig, ENGINE_VOLUME, "{\"metadata\":{\"name\":\"v\"}}");
	refused(ENGINE_VOLUME, "{\"metadata\":{\"name\":\"v\"}}", PL_EXISTS, "v");
	end();
}

T_CASE(impossible_amounts_are_refused_or_count_as_0)
{
	begin();
	refused(ENGINE_NODE,
	        "{\"metadata\":{\"name\":\"x\"},\"status\":{\"capacity\":{\"cpu\":\"1x\"}}}",
	        PL_INVALID, "status.capacity");
	refused(ENGINE_NODE,
	        "{\"metadata\":{\"name\":\"x\"},\"status\":{\"capacity\":{\"memory\":"
	        "\"99999999999999999999\"}}}",
	        PL_LIMIT, "status.");
	refused(ENGINE_POD,
	        rig_pod_json("x", "99999999999999999999", ",\"nodeName\":\"good\"", ""),
	        PL_LIMIT, "spec.containers");
	end();
}

T_CASE(a_node_with_negative_capacity_has_none)
{
	rig_open(&rig, &(struct engine_opts){0});
	rig_node(&rig, "n", "-4");
	T_EQ(engine_snapshot(rig.engine)->row[rig_slot(&rig, "n")].alloc.cpu_milli, 0);
	T_STR(rig_decide(&rig, rig_pod_json("x", "1m", "", "")), "");
	T_STR(rig_decide(&rig, rig_pod_json("x", "0", "", "")), "n");
	rig_close(&rig);
}

T_CASE(validation_reports_every_field)
{
	struct field_errors errors;

	begin();
	T_CODE(engine_put(rig.engine, ENGINE_NODE,
	                  PL_SPAN_LIT("{\"metadata\":{\"name\":\"N_\"},\"status\":{"
	                              "\"capacity\":{\"cpu\":\"-1\"}}}"),
	                  &errors, &rig.err),
	       PL_INVALID, NULL);
	T_EQ(errors.count, 2);
	T_STR(errors.at[0].path, "metadata.name");
	T_TRUE(strstr(errors.at[1].path, "cpu") != NULL);
	end();
}

T_CASE(uncountable_amounts_are_refused)
{
	static const char most[] = "4611686018427387903"; /* SNAPSHOT_USED_MOST */
	char json[512];

	rig_open(&rig, &(struct engine_opts){0});
	rig_node(&rig, "n", "4");
	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(json, sizeof json,
		               "{\"metadata\":{\"name\":\"p%u\"},\"spec\":{\"nodeName\":"
		               "\"n\",\"containers\":[{\"resources\":{\"requests\":"
		               "{\"memory\":\"%s\",\"example.com/x\":\"%s\"}}}]}}",
		               i, most, most);
		T_CODE(rig_try(&rig, ENGINE_POD, json), i == 0 ? PL_OK : PL_LIMIT,
		       &rig.err);
	}
	T_EQ(engine_pods(rig.engine), 1);
	T_EQ(engine_snapshot(rig.engine)->row[rig_slot(&rig, "n")].used.memory,
	     SNAPSHOT_USED_MOST);
	T_STR(rig_decide(&rig, rig_pod_json("x", "1", "", "")), "n");
	rig_close(&rig);
}
