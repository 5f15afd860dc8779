#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/hash.h"
#include "store/keys/partition.h"
#include "tests/harness/t.h"

#define L(text) PL_SPAN_LIT(text)

/* Gives the text before the next slash, and keeps the rest. */
static struct pl_span next_part(char **at)
{
	char *slash = strchr(*at, '/');
	struct pl_span part =
		pl_span(*at, slash == NULL ? strlen(*at) : (size_t)(slash - *at));

	*at = slash == NULL ? *at + part.len : slash + 1;
	return part;
}

static uint32_t partition(const char *what, char *text, uint32_t count)
{
	struct partition_group group = {.namespace = next_part(&text)};
	uint32_t got = UINT32_MAX;
	struct pl_err err = {0};

	if (strcmp(what, "node") == 0) {
		T_OK(partition_of_node(group.namespace, next_part(&text), count, &got,
		                       &err),
		     &err);
		return got;
	}
	if (strcmp(what, "pod") == 0) {
		T_OK(partition_of_pod(group.namespace, next_part(&text), count, &got,
		                      &err),
		     &err);
		return got;
	}
	if (strcmp(what, "gang") == 0) {
		group.gang = next_part(&text);
	} else {
		T_STR(what, "controller");
		group.kind = next_part(&text);
		group.name = next_part(&text);
		group.uid = next_part(&text);
	}
	T_OK(partition_of_group(&group, count, &got, &err), &err);
	return got;
}

T_CASE(partitions_match_the_documented_vectors)
{
	char path[512], line[1024], what[32], text[512];
	unsigned rows = 0, small, large;
	uint64_t hash;
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/docs/hash.md", getenv("T_ROOT"));
	file = fopen(path, "r");
	T_TRUE(file != NULL);
	while (fgets(line, sizeof line, file) != NULL) {
		// NOLINTNEXTLINE(cert-err34-c): our own page; a bad number fails below
		if (sscanf(line, "| %31s | `%511[^`]` | `%" SCNx64 "` | %u | %u |", what,
		           text, &hash, &small, &large) != 5)
			continue;
		rows++;
		T_TRUE(pl_hash(pl_span_str(text)) == hash);
		T_EQ(partition(what, text, 64), small);
		T_EQ(partition(what, text, 4096), large);
		T_EQ(partition(what, text, 1), 0);
	}
	(void)fclose(file);
	T_EQ(rows, 11);
}

T_CASE(invalid_names_are_refused)
{
	struct partition_group group = {.namespace = L("default"),
	                                .kind = L("Job"),
	                                .name = L("x"),
	                                .uid = L("1-2")};
	struct pl_err err = {0};
	uint32_t got = 77;

	T_CODE(partition_of_node(L("a/b"), L("c"), 64, &got, &err), PL_INVALID, &err);
	T_CODE(partition_of_node(L("a"), L("b/c"), 64, &got, &err), PL_INVALID, &err);
	T_CODE(partition_of_pod(L("a.b"), L("c"), 64, &got, &err), PL_INVALID, &err);
	T_CODE(partition_of_pod(L("a"), L(""), 64, &got, &err), PL_INVALID, &err);
	group.uid = L("1/2");
	T_CODE(partition_of_group(&group, 64, &got, &err), PL_INVALID, &err);
	T_STR(err.msg, "controller uid '1/2': want 1 to 128 printable bytes, no /");
	group.kind = L("");
	T_CODE(partition_of_group(&group, 64, &got, &err), PL_INVALID, &err);
	group.gang = L("A");
	T_CODE(partition_of_group(&group, 64, &got, &err), PL_INVALID, &err);
	T_EQ(got, 77);
	group.gang = L("g");
	T_OK(partition_of_group(&group, 64, &got, &err), &err);
}

/* 64,000 names over 64 partitions: each partition gets its share within about a tenth. */
T_CASE(names_spread_evenly)
{
	unsigned count[64] = {0};

	for (unsigned i = 0; i < 64000; i++) {
		char name[32];
		uint32_t at = 0;

		(void)snprintf(name, sizeof name, "web-%u", i);
		T_OK(partition_of_pod(L("default"), pl_span_str(name), 64, &at, NULL),
		     NULL);
		count[at]++;
	}
	for (unsigned i = 0; i < 64; i++)
		T_TRUE(count[i] > 850 && count[i] < 1150);
}
