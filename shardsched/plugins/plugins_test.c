/* The table of plugins, and plugins that do not look at nodes. */
#include "tests/support/shardsched/plugins/plugin_rig.h"

T_CASE(each_row_has_its_index_and_name)
{
	T_EQ(plugins.count, PLUGINS_COUNT);
	T_TRUE(plugins.row[index_of_plugin_pod_topology_spread] ==
	       &plugin_pod_topology_spread);
	for (unsigned i = 0; i < plugins.count; i++)
		for (unsigned j = 0; j < i; j++)
			T_TRUE(strcmp(plugins.row[i]->name, plugins.row[j]->name) != 0);
}

T_CASE(default_profile_has_all_but_sla_sort)
{
	uint64_t all = (UINT64_C(1) << PLUGINS_COUNT) - 1;

	T_EQ(plugins.by_default, all & ~(UINT64_C(1) << index_of_plugin_sla_sort));
	T_EQ(*plugin_priority_sort.sort, QUEUE_BY_PRIORITY);
	T_EQ(*plugin_sla_sort.sort, QUEUE_BY_SLA);
}

/* Every filter can explain, and says what it waits for. */
T_CASE(rows_are_complete)
{
	for (unsigned i = 0; i < plugins.count; i++) {
		const struct plugin *row = plugins.row[i];

		T_EQ(row->filter != NULL && row->why == NULL, false);
		T_EQ(row->why != NULL && row->events == 0, false);
		T_EQ(row->args_size > 0, row->args_parse != NULL);
		T_EQ(row->score != NULL, row->weight > 0);
		T_EQ(row->normal == PLUGIN_BY_ITSELF, row->normalize != NULL);
	}
}

T_CASE(gated_pod_is_not_queued)
{
	struct pl_buf text;
	struct verdict verdict;
	struct plugin_rig rig;

	begin();
	rig_open(&rig, &plugin_scheduling_gates,
	         "{'metadata':{'name':'p'},'spec':{'schedulingGates':[{'name':'a.b/c'},"
	         "{'name':'d'}]}}",
	         NULL);
	verdict_clear(&verdict);
	T_EQ(rig.row->pre_enqueue(&rig.call, &verdict), VERDICT_UNRESOLVABLE);
	T_EQ(verdict.count, 2);
	pl_buf_init(&text, 256);
	T_OK(reason_print(&model.strings, &verdict.reason[0], &text), NULL);
	T_SPAN(pl_buf_span(&text), PL_SPAN_LIT("waiting for scheduling gates: [a.b/c]"));
	pl_buf_done(&text);
	rig_close(&rig);
	rig_open(&rig, &plugin_scheduling_gates, "{'metadata':{'name':'p'}}", NULL);
	verdict_clear(&verdict);
	T_EQ(rig.row->pre_enqueue(&rig.call, &verdict), VERDICT_SUCCESS);
	T_EQ(verdict.code, VERDICT_SUCCESS);
	rig_close(&rig);
	rig_open(&rig, &plugin_default_binder, "{'metadata':{'name':'p'}}", NULL);
	T_EQ(rig.row->bind(&rig.call, 0, &verdict), VERDICT_SUCCESS);
	rig_close(&rig);
	end();
}
