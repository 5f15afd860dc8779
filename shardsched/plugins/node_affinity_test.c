/* Cases of node affinity: names, configuration, numbers of values. */
#include "tests/support/shardsched/plugins/plugin_rig.h"

T_CASE(reused_value_numbers_are_noticed)
{
	struct plugin_rig rig;

	begin();
	put_node("{'metadata':{'name':'a','labels':{'rack':'r1'}}}");
	put_node("{'metadata':{'name':'b','labels':{'rack':'r2'}}}");
	rig_open(&rig, &plugin_node_affinity,
	         "{'metadata':{'name':'p'},'spec':{'nodeSelector':{'rack':'r1'}}}", NULL);
	T_EQ(pl_bitset_count(rig_filter(&rig)), 1);
	change_node(0, "{'metadata':{'name':'a'}}");
	T_EQ(pl_bitset_count(rig_filter(&rig)), 0);
	change_node(1, "{'metadata':{'name':'b','labels':{'rack':'r3'}}}");
	T_EQ(pl_bitset_count(rig_filter(&rig)), 0);
	change_node(0, "{'metadata':{'name':'a','labels':{'rack':'r1'}}}");
	T_EQ(pl_bitset_count(rig_filter(&rig)), 1);
	rig_close(&rig);
	end();
}

/* Labels are compared when there can be no more columns. */
T_CASE(too_many_label_columns_are_only_slower)
{
	static struct label_column *column[LABEL_COLUMNS_MAX];
	static uint32_t key[LABEL_COLUMNS_MAX];
	struct plugin_rig rig;

	begin();
	put_node("{'metadata':{'name':'a','labels':{'rack':'r1'}}}");
	put_node("{'metadata':{'name':'b','labels':{'rack':'r2'}}}");
	for (unsigned i = 0; i < LABEL_COLUMNS_MAX; i++) {
		struct line_text text = {0};

		add(&text, "key%u", i);
		T_OK(strings_add(&model.strings, pl_span_str(text.at), &key[i]), NULL);
		T_OK(label_column_open(&snapshot, key[i], &column[i], &err), &err);
	}
	rig_open(&rig, &plugin_node_affinity,
	         "{'metadata':{'name':'p'},'spec':{'nodeSelector':{'rack':'r1'}}}", NULL);
	T_EQ(pl_bitset_count(rig_filter(&rig)), 1);
	change_node(0, "{'metadata':{'name':'a'}}");
	T_EQ(pl_bitset_count(rig_filter(&rig)), 0);
	rig_close(&rig);
	for (unsigned i = 0; i < LABEL_COLUMNS_MAX; i++) {
		label_column_close(&snapshot, column[i]);
		strings_unref(&model.strings, key[i]);
	}
	end();
}

/* Labels are compared when a table can not grow. */
T_CASE(table_without_memory_is_only_slower)
{
	enum { MANY = 300 };
	uint64_t bits[MANY / 64 + 1];
	unsigned left = 0;
	struct plugin_rig rig;

	begin();
	rig_open(&rig, &plugin_node_affinity,
	         "{'metadata':{'name':'p'},'spec':{'affinity':{'nodeAffinity':{'required"
	         "DuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{"
	         "'matchExpressions':[{'key':'cores','operator':'Gt','values':['99']}]}"
	         "]}}}}}",
	         NULL);
	for (unsigned i = 0; i < MANY; i++) {
		struct line_text text = {0};

		add(&text, "{'metadata':{'name':'n%u','labels':{'cores':'%u'}}}", i, i);
		put_node(text.at);
	}
	memcpy(bits, snapshot.live.word, sizeof bits);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	rig.row->filter(&rig.call, (struct node_span){0, MANY / 64 + 1, bits});
	T_TRUE(pl_fault_fired(PL_FAULT_ALLOC));
	pl_fault_reset();
	for (unsigned i = 0; i < MANY / 64 + 1; i++)
		left += (unsigned)__builtin_popcountll(bits[i]);
	T_EQ(left, MANY - 100);
	T_EQ(pl_bitset_count(rig_filter(&rig)), MANY - 100);
	rig_close(&rig);
	end();
}

#define AFFINITY(required, preferred)                                                 \
	"{'metadata':{'name':'p','namespace':'x'},'spec':{'containers':[{'name':'c'," \
	"'image':'i'}],'affinity':{'nodeAffinity':{'required" WHEN "':"               \
	"{'nodeSelectorTerms':[" required "]},'preferred" WHEN "':[" preferred "]}}}}"
#define WHEN "DuringSchedulingIgnoredDuringExecution"
#define NAMES(op, values) \
	"{'key':'metadata.name','operator':'" op "','values':[" values "]}"

static enum verdict_code narrowed(const char *pod, uint32_t *nodes,
                                  struct verdict *verdict)
{
	struct plugin_rig rig;
	struct pl_bitset set;
	enum verdict_code code;

	rig_open(&rig, &plugin_node_affinity, pod, NULL);
	code = rig_pre_filter(&rig, &set, verdict);
	*nodes = (uint32_t)pl_bitset_count(set);
	rig_close(&rig);
	return code;
}

static void put_four(void)
{
	put_node("{'metadata':{'name':'n0'}}");
	put_node("{'metadata':{'name':'n1'}}");
	put_node("{'metadata':{'name':'n2'}}");
	put_node("{'metadata':{'name':'n3'}}");
}

T_CASE(names_narrow_the_search)
{
	struct verdict verdict;
	uint32_t nodes;

	begin();
	put_four();
	T_EQ(narrowed(AFFINITY("{'matchFields':[" NAMES(
				       "In", "'n3'") "]},"
	                                             "{'matchFields':[" NAMES(
							     "In", "'n1'") "]}",
	                       ""),
	              &nodes, &verdict),
	     VERDICT_SUCCESS);
	T_EQ(nodes, 2);
	/* One term has no name: any node may match. */
	T_EQ(narrowed(AFFINITY("{'matchFields':[" NAMES(
				       "In", "'n3'") "]},"
	                                             "{'matchFields':[" NAMES(
							     "NotIn", "'n1'") "]}",
	                       ""),
	              &nodes, &verdict),
	     VERDICT_SUCCESS);
	T_EQ(nodes, 4);
	T_EQ(narrowed(AFFINITY("{'matchFields':[" NAMES("In", "'n3'") "," NAMES(
				       "In", "'n2'") "]}",
	                       ""),
	              &nodes, &verdict),
	     VERDICT_UNRESOLVABLE);
	T_EQ(verdict.reason[0].code, REASON_AFFINITY_NAMES);
	T_EQ(narrowed(AFFINITY("{'matchFields':[" NAMES("In", "'gone'") "]}", ""), &nodes,
	              &verdict),
	     VERDICT_UNRESOLVABLE);
	T_EQ(verdict.reason[0].code, REASON_AFFINITY);
	end();
}

T_CASE(invalid_preferred_term_fails_the_cycle)
{
	struct pl_bitset set;
	struct verdict verdict;
	struct plugin_rig rig;

	begin();
	put_four();
	rig_open(&rig, &plugin_node_affinity,
	         AFFINITY("", "{'weight':1,'preference':{'matchExpressions':[{'key':'a',"
	                      "'operator':'Gt','values':['b']}]}}"),
	         NULL);
	rig_pre_filter(&rig, &set, &verdict);
	T_EQ(plugin_node_affinity.pre_score(&rig.call, set, &verdict), VERDICT_ERROR);
	T_EQ(verdict.code, VERDICT_ERROR);
	rig_close(&rig);
	end();
}

T_CASE(affinity_is_added_by_configuration)
{
	struct pl_bitset left;
	struct verdict verdict;
	struct plugin_rig rig;
	int64_t score[512];

	begin();
	put_node("{'metadata':{'name':'a','labels':{'zone':'x','disk':'ssd'}}}");
	put_node("{'metadata':{'name':'b','labels':{'zone':'x'}}}");
	put_node("{'metadata':{'name':'c','labels':{'zone':'y'}}}");
	rig_open(&rig, &plugin_node_affinity,
	         "{'metadata':{'name':'p'},'spec':{'nodeSelector':{'disk':'ssd'}}}",
	         "{'kind':'NodeAffinityArgs','addedAffinity':{'required" WHEN
	         "':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone',"
	         "'operator':'In','values':['x']}]}]},'preferred" WHEN "':[{'weight':7,"
	         "'preference':{'matchExpressions':[{'key':'disk','operator':'Exists'}]}"
	         "}]}}");
	left = rig_filter(&rig);
	T_EQ(pl_bitset_count(left), 1);
	T_TRUE(!rig_why(&rig, 1, &verdict));
	T_EQ(verdict.reason[0].code, REASON_AFFINITY);
	T_TRUE(!rig_why(&rig, 2, &verdict));
	T_EQ(verdict.reason[0].code, REASON_AFFINITY_ADDED);
	T_TRUE(rig_score(&rig, snapshot.live, score));
	T_EQ(score[0], 7);
	T_EQ(score[1], 0);
	rig_close(&rig);
	end();
}

static void refuse_args(const char *text, const char *says)
{
	struct plugin_rig rig;

	rig_begin_pod(&rig, &plugin_node_affinity, "{'metadata':{'name':'p'}}");
	T_CODE(rig_args(&rig, text, &err), PL_INVALID, &err);
	if (strstr(err.msg, says) == NULL)
		T_STR(err.msg, says);
	rig_free(&rig);
}

T_CASE(arguments_are_validated_whole)
{
	begin();
	refuse_args("{'addedAffinities':{}}", "addedAffinities");
	refuse_args("{'addedAffinity':{'soft':[]}}", "addedAffinity.soft");
	refuse_args("{'addedAffinity':7}", "addedAffinity");
	refuse_args("{'addedAffinity':{'required" WHEN "':{}}}", "nodeSelectorTerms");
	refuse_args("{'addedAffinity':{'required" WHEN "':{'nodeSelectorTerms':["
	            "{'matchExpressions':[{'key':'a','operator':'Is'}]}]}}}",
	            "operator");
	refuse_args("{'addedAffinity':{'required" WHEN "':{'nodeSelectorTerms':["
	            "{'matchExpressions':[{'key':'a','operator':'Gt',"
	            "'values':['b']}]}]}}}",
	            "can not be parsed");
	refuse_args("{'addedAffinity':{'required" WHEN "':{'nodeSelectorTerms':["
	            "{'matchExpressions':[{'key':'a','op':'Exists'}]}]}}}",
	            "matchExpressions[0]");
	refuse_args("{'addedAffinity':{'preferred" WHEN "':[{'weight':0,'preference':{}}]"
	            "}}",
	            "weight");
	refuse_args("{'addedAffinity':{'preferred" WHEN "':[{'weight':1,'preferences':{"
	            "}}]}}",
	            "preferences");
	refuse_args("{'addedAffinity':{'preferred" WHEN "':[{'weight':1,'preference':{"
	            "'x':1}}]}}",
	            "preference.x");
	end();
}
