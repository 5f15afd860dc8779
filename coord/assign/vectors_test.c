/* The tables of docs/hash.md, which every version has to compute. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/assign/assign_int.h"
#include "store/base/hash.h"
#include "tests/harness/t.h"

static unsigned scores, logs, tables;

static void score(const char *id, uint32_t salt, uint32_t partition,
                  const uint64_t want[2])
{
	uint64_t seed = assign_seed(pl_hash(pl_span_str(id)), salt);

	T_TRUE(assign_hash(seed, partition) == want[0]);
	T_EQ(assign_log2(want[0]), want[1]);
	scores++;
}

static void owners(char *members, const char *want)
{
	char got[128] = "", *rest = members, *one;
	struct assign *assign;
	struct pl_err err;

	T_OK(assign_new((uint32_t)strlen(want), &assign, &err), &err);
	while ((one = strtok_r(NULL, " ", &rest)) != NULL) {
		char id[16];
		uint32_t weight, salt;

		// NOLINTNEXTLINE(cert-err34-c): our own page; a bad number fails below
		T_EQ(sscanf(one, "%15[^:]:%u:%u", id, &weight, &salt), 3);
		T_OK(assign_put_salted(assign, pl_span_str(id), weight, salt, &err),
		     &err);
	}
	for (uint32_t p = 0; p < assign_partitions(assign); p++)
		got[p] = (char)assign_of(assign, p).at[0];
	T_STR(got, want);
	assign_free(assign);
	tables++;
}

/* NOLINTBEGIN(cert-err34-c): our own page; a bad number fails a comparison */
static void row(const char *line)
{
	char id[128], text[128];
	uint32_t salt, partition;
	uint64_t number[2];

	if (sscanf(line, "| score | `%127[^`]` | %u | %u | `%" SCNx64 "` | %" SCNu64 " |",
	           id, &salt, &partition, &number[0], &number[1]) == 5)
		score(id, salt, partition, number);
	if (sscanf(line, "| log | `%" SCNx64 "` | %" SCNu64 " |", &number[0],
	           &number[1]) == 2) {
		T_EQ(assign_log2(number[0]), number[1]);
		logs++;
	}
	if (sscanf(line, "| owners | `%127[^`]` | `%127[^`]` |", id, text) == 2)
		owners(id, text);
}
/* NOLINTEND(cert-err34-c) */

T_CASE(vectors_of_the_documentation)
{
	char path[512], line[1024];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/docs/hash.md", getenv("T_ROOT"));
	file = fopen(path, "r");
	T_TRUE(file != NULL);
	while (fgets(line, sizeof line, file) != NULL)
		row(line);
	(void)fclose(file);
	T_EQ(scores, 7);
	T_EQ(logs, 10);
	T_EQ(tables, 3);
}
