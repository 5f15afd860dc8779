/*
 * A whole store, a line a key: "key value". Whatever stands there is judged to the end,
 * and what is to be mended has names.
 */
#include <stdlib.h>

#include "coord/service/fsck/fsck_core.h"
#include "tests/fuzz/fuzz.h"

enum { LINES_MAX = 512, PARTITIONS = 8 };

struct line {
	struct pl_span key, value;
	int64_t revision;
};

static void on_found(void *ctx, const struct fsck_finding *finding)
{
	(void)ctx;
	PL_ASSERT(finding->key.len > 0 && finding->what[0] != 0);
}

static int key_cmp(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return pl_span_cmp(x->key, y->key);
}

static size_t split_lines(const uint8_t *data, size_t size, struct line *line)
{
	size_t count = 0;

	while (size > 0 && count < LINES_MAX) {
		const uint8_t *end = memchr(data, '\n', size), *space;
		size_t len = end == NULL ? size : (size_t)(end - data);

		space = memchr(data, ' ', len);
		line[count] = (struct line){.key = pl_span(data, len),
		                            .revision = (int64_t)count + 1};
		if (space != NULL) {
			line[count].key.len = (size_t)(space - data);
			line[count].value =
				pl_span(space + 1, len - line[count].key.len - 1);
		}
		count++;
		data += end == NULL ? len : len + 1;
		size -= end == NULL ? len : len + 1;
	}
	qsort(line, count, sizeof *line, key_cmp);
	return count;
}

static void feed_lines(struct fsck_core *core, const struct line *line, size_t count)
{
	for (unsigned prefix = 0; prefix < FSCK_PREFIXES; prefix++)
		for (size_t i = 0; i < count; i++) {
			const struct kv_record record = {
				.key = line[i].key,
				.value = line[i].value,
				.create_revision = line[i].revision,
				.mod_revision = line[i].revision};

			if (!pl_span_starts(record.key,
			                    pl_span_str(fsck_prefixes[prefix])) ||
			    (i > 0 && pl_span_eq(record.key, line[i - 1].key)))
				continue;
			if (fsck_core_feed(core, &record, NULL) != PL_OK)
				return;
		}
}

static void look_at_mends(const struct fsck_core *core)
{
	struct fsck_repair what;
	uint64_t cursor = 0;

	while (fsck_core_repair(core, &cursor, &what)) {
		struct fsck_pod pod;
		struct fsck_term term;
		uint32_t at = 0;

		if (what.what == FSCK_REPAIR_ALLOC)
			while (fsck_core_unlisted(core, what.number, &at, &pod))
				PL_ASSERT(pod.namespace.len > 0 && pod.name.len > 0);
		at = 0;
		if (what.what == FSCK_REPAIR_REGISTRY)
			while (fsck_core_term(core, what.number, &at, &term))
				PL_ASSERT(term.namespace.len > 0 && term.id.len > 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct line line[LINES_MAX];
	const struct fsck_core_opts opts = {
		.partitions = PARTITIONS, .wall_ms = 1, .found = on_found};
	size_t count = split_lines(data, size, line);
	struct fsck_core *core;

	if (fsck_core_new(&opts, &core, NULL) != PL_OK)
		return 0;
	feed_lines(core, line, count);
	if (fsck_core_end(core, NULL) == PL_OK)
		look_at_mends(core);
	fsck_core_free(core);
	return 0;
}
