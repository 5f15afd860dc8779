/* A text that fits a template gives what parsing it gives; any other text fits none. */
#include <stdio.h>

#include "shardsched/model/parse.h"
#include "shardsched/shard/cache/spec_cache.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

static struct model model;
static struct pl_arena arena;
static struct spec_cache spec_cache;

static const char fleet_view[] =
	"{\"metadata\":{\"labels\":{\"app\":\"web\",\"name\":\"x\"},\"name\":\"%s\","
	"\"namespace\":\"web\",\"uid\":\"%s\",\"creationTimestamp\":\"%s\"},\"spec\":{"
	"\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}";

static const char *json_of(const char *name, const char *uid, const char *time,
                           const char *cpu)
{
	static char text[1024];

	(void)snprintf(text, sizeof text, fleet_view, name, uid, time, cpu);
	return text;
}

static bool read(struct pl_span json, struct pod *out)
{
	struct parse parse = {.model = &model, .arena = &arena};

	pl_arena_reset(&arena);
	return pod_parse(&parse, json, out, NULL) == PL_OK;
}

static void up(void)
{
	struct pl_span json =
		pl_span_str(json_of("a-1", "u-1", "2026-11-21T05:00:00Z", "100m"));
	struct pod pod;

	model_init(&model);
	pl_arena_init(&arena, 65536, 0);
	T_TRUE(read(json, &pod));
	spec_cache_add(&spec_cache, &model, json, &pod);
	pod_drop(&model, &pod);
}

static void down(void)
{
	spec_cache_done(&spec_cache, &model);
	pl_arena_done(&arena);
	model_done(&model);
}

static bool found(struct pl_span json)
{
	struct pod pod, is;

	if (!spec_cache_find(&spec_cache, &model, json, &pod))
		return false;
	T_TRUE(read(json, &is));
	T_TRUE(pod.spec == is.spec);
	T_EQ(pod.name, is.name);
	T_EQ(pod.uid, is.uid);
	T_EQ(pod.created_ms, is.created_ms);
	T_EQ(pod.node, is.node);
	T_EQ(pod.phase, is.phase);
	pod_drop(&model, &pod);
	pod_drop(&model, &is);
	return true;
}

#define FOUND(...) found(pl_span_str(json_of(__VA_ARGS__)))

T_CASE(replicas_fit_one_template)
{
	up();
	T_TRUE(FOUND("a-1", "u-1", "2026-11-21T05:00:00Z", "100m"));
	T_TRUE(FOUND("a-22", "u-333", "2026-11-21T05:00:01.5Z", "100m"));
	T_TRUE(!FOUND("a-1", "u-1", "2026-11-21T05:00:00Z", "200m"));
	T_TRUE(!FOUND("a-1", "u-1", "soon", "100m"));
	T_TRUE(!FOUND("a-1", "", "2026-11-21T05:00:00Z", "100m"));
	T_TRUE(!FOUND("a\\u0041", "u-1", "2026-11-21T05:00:00Z", "100m"));
	T_TRUE(!FOUND("a\",\"deletionTimestamp\":\"2026-11-21T05:00:00Z", "u-1",
	              "2026-11-21T05:00:00Z", "100m"));
	down();
}

/* Bytes are changed, removed and inserted: what is found is what parsing gives. */
T_CASE(a_cached_spec_equals_the_parsed_one)
{
	struct pl_rng rng;
	unsigned hits = 0;

	up();
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < 20000; i++) {
		char text[1024];
		size_t len =
			strlen(json_of("a-1", "u-1", "2026-11-21T05:00:00Z", "100m"));
		size_t at = (size_t)pl_rng_below(&rng, len);

		memcpy(text, json_of("a-1", "u-1", "2026-11-21T05:00:00Z", "100m"), len);
		switch (pl_rng_below(&rng, 3)) {
		case 0:
			text[at] = (char)pl_rng_below(&rng, 256);
			break;
		case 1:
			memmove(text + at, text + at + 1, len - at - 1);
			len--;
			break;
		default:
			memmove(text + at + 1, text + at, len - at);
			text[at] = (char)pl_rng_between(&rng, 32, 126);
			len++;
			break;
		}
		hits += found(pl_span(text, len));
	}
	T_REACHED(hits > 100);
	down();
}
