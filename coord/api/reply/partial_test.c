/* Metadata alone, as clients of metadata read it. */
#include "coord/api/reply/partial.h"
#include "tests/harness/t.h"

struct partial_rig {
	struct pl_arena arena;
	struct pl_buf text;
	struct pl_json_out out;
};

static void rig_open(struct partial_rig *rig)
{
	pl_arena_init(&rig->arena, 0, 0);
	pl_buf_init(&rig->text, 1 << 16);
	pl_json_out_init(&rig->out, &rig->text);
}

static void rig_ends(struct partial_rig *rig, const char *want)
{
	T_OK(pl_json_out_done(&rig->out), NULL);
	T_OK(pl_buf_add(&rig->text, PL_SPAN_LIT("\0")), NULL);
	T_STR((const char *)rig->text.at, want);
	pl_buf_done(&rig->text);
	pl_arena_done(&rig->arena);
}

static struct pl_json parse(struct partial_rig *rig, const char *text)
{
	struct pl_json out = {0};

	T_OK(pl_json_parse(&rig->arena, pl_span_str(text), NULL, &out, NULL), NULL);
	return out;
}

#define OBJECT \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"}},\"spec\":{}}"
#define PARTIAL(version)                                                            \
	"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/" version \
	"\",\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"}}}"

T_CASE(an_object_becomes_its_metadata)
{
	struct partial_rig rig;

	rig_open(&rig);
	partial_write(&rig.out, parse(&rig, OBJECT), false);
	rig_ends(&rig, PARTIAL("v1"));
	rig_open(&rig);
	partial_write(&rig.out, parse(&rig, OBJECT), true);
	rig_ends(&rig, PARTIAL("v1beta1"));
	rig_open(&rig);
	partial_write(&rig.out, parse(&rig, "{\"metadata\":null}"), false);
	rig_ends(&rig,
	         "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
	         "\"metadata\":{}}");
}

T_CASE(a_list_keeps_its_own_metadata)
{
	struct list_meta meta = {
		.revision = 42, .continue_token = PL_SPAN_LIT("x"), .remaining = 3};
	struct list_meta none = {.revision = 0};
	struct partial_rig rig;

	rig_open(&rig);
	partial_list_begin(&rig.out, &meta, false);
	partial_list_add(&rig.out, parse(&rig, OBJECT), false);
	partial_list_add(&rig.out, parse(&rig, OBJECT), false);
	partial_list_end(&rig.out);
	rig_ends(&rig, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":"
	               "\"meta.k8s.io/v1\",\"metadata\":{\"resourceVersion\":\"42\","
	               "\"continue\":\"x\",\"remainingItemCount\":3},\"items\":[" PARTIAL(
			       "v1") "," PARTIAL("v1") "]}");
	rig_open(&rig);
	partial_list_begin(&rig.out, &none, true);
	partial_list_end(&rig.out);
	rig_ends(&rig, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":"
	               "\"meta.k8s.io/v1beta1\",\"metadata\":{},\"items\":[]}");
}
