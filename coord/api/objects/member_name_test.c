#include "coord/api/objects/member_name.h"
#include "tests/harness/t.h"

static void joins(const char *cluster, const char *name, const char *want)
{
	char out[MEMBER_NAME_SIZE];
	struct pl_span back_cluster, back_name;
	size_t len = member_name_join(pl_span_str(cluster), pl_span_str(name), out);

	T_STR(out, want);
	T_EQ(len, strlen(want));
	member_name_split(pl_span(out, len), &back_cluster, &back_name);
	T_SPAN(back_cluster, pl_span_str(cluster));
	T_SPAN(back_name, pl_span_str(name));
}

T_CASE(a_joined_name_reads_back)
{
	joins("east", "n-1", "east:n-1");
	joins("default", "n-1", "n-1");
	joins("a.b", "c.d", "a.b:c.d");
}

T_CASE(names_of_two_clusters_differ)
{
	char one[MEMBER_NAME_SIZE], two[MEMBER_NAME_SIZE];

	(void)member_name_join(PL_SPAN_LIT("a"), PL_SPAN_LIT("b.c"), one);
	(void)member_name_join(PL_SPAN_LIT("a.b"), PL_SPAN_LIT("c"), two);
	T_TRUE(strcmp(one, two) != 0);
}

T_CASE(odd_names_are_split_and_left_to_the_checks_of_keys)
{
	struct pl_span cluster, name;

	member_name_split(PL_SPAN_LIT(":x"), &cluster, &name);
	T_EQ(cluster.len, 0);
	T_SPAN(name, PL_SPAN_LIT("x"));
	member_name_split(PL_SPAN_LIT("a:b:c"), &cluster, &name);
	T_SPAN(name, PL_SPAN_LIT("b:c"));
	member_name_split(PL_SPAN_LIT(""), &cluster, &name);
	T_SPAN(cluster, PL_SPAN_LIT("default"));
	T_EQ(name.len, 0);
}
