/* Which arguments are accepted, and with which field others are refused. */
#include "store/base/fault.h"
#include "tests/support/shardsched/plugins/fit_rig.h"

static const struct {
	const struct plugin *plugin;
	const char *text;
	const char *path; /* NULL: the arguments are valid */
} configurations[] = {
	{&plugin_fit, "{}", NULL},
	{&plugin_fit, "{'scoringStrategy': null}", NULL},
	{&plugin_fit, "{'scoringStrategy': {'type': 'MostAllocated'}}", NULL},
	{&plugin_fit,
         "{'scoringStrategy': {'type': 'LeastAllocated', 'resources': [{'name': 'cpu', "
         "'weight': 100}, {'name': 'cpu'}]}}",
         NULL},
	{&plugin_fit,
         "{'scoringStrategy': {'type': 'LeastAllocated', 'requestedToCapacityRatio': "
         "{'shape': []}}}",
         NULL},
	{&plugin_fit, "{'scoring': 1}", "scoring"},
	{&plugin_fit, "{'scoringStrategy': {}}", "scoringStrategy.type"},
	{&plugin_fit, "{'scoringStrategy': {'type': 'Best'}}", "scoringStrategy.type"},
	{&plugin_fit, "{'scoringStrategy': {'type': 'RequestedToCapacityRatio'}}",
         "scoringStrategy.requestedToCapacityRatio"},
	{&plugin_fit,
         "{'scoringStrategy': {'type': 'RequestedToCapacityRatio', "
         "'requestedToCapacityRatio': {'shape': []}}}",
         "scoringStrategy.requestedToCapacityRatio.shape"},
	{&plugin_fit,
         "{'scoringStrategy': {'type': 'MostAllocated', 'requestedToCapacityRatio': "
         "{'shape': [{'utilization': 5, 'score': 1}, {'utilization': 5, 'score': 2}]}}}",
         "scoringStrategy.requestedToCapacityRatio.shape[1].utilization"},
	{&plugin_fit,
         "{'scoringStrategy': {'type': 'MostAllocated', 'requestedToCapacityRatio': "
         "{'shape': [{'utilization': 101, 'score': 1}]}}}",
         "scoringStrategy.requestedToCapacityRatio.shape[0].utilization"},
	{&plugin_fit,
         "{'scoringStrategy': {'type': 'MostAllocated', 'requestedToCapacityRatio': "
         "{'shape': [{'utilization': 1, 'score': 11}]}}}",
         "scoringStrategy.requestedToCapacityRatio.shape[0].score"},
	{&plugin_fit,
         "{'scoringStrategy': {'type': 'MostAllocated', 'resources': [{'name': 'cpu', "
         "'weight': 101}]}}",
         "scoringStrategy.resources[0].weight"},
	{&plugin_fit,
         "{'scoringStrategy': {'type': 'MostAllocated', 'resources': [{'weight': 1}]}}",
         "scoringStrategy.resources[0].name"},
	{&plugin_fit,
         "{'scoringStrategy': {'type': 'MostAllocated', 'resources': [{'name': ''}]}}",
         "scoringStrategy.resources[0].name"},
	{&plugin_fit,
         "{'scoringStrategy': {'type': 'MostAllocated', 'resources': [{'name': 'cpu', "
         "'height': 1}]}}",
         "scoringStrategy.resources[0].height"},
	{&plugin_fit, "{'ignoredResources': ['a b']}", "ignoredResources[0]"},
	{&plugin_fit, "{'ignoredResources': 'cpu'}", "ignoredResources"},
	{&plugin_fit, "{'ignoredResourceGroups': ['a', 'a/b']}",
         "ignoredResourceGroups[1]"},
	{&plugin_balanced_allocation, "{'resources': [{'name': 'cpu', 'weight': 1}]}",
         NULL},
	{&plugin_balanced_allocation, "{'resources': [{'name': 'cpu', 'weight': 2}]}",
         "resources[0].weight"},
	{&plugin_balanced_allocation, "{'resources': [{'name': 'cpu'}, {'name': 'cpu'}]}",
         "resources[1].name"},
	{&plugin_balanced_allocation, "{'resource': []}", "resource"},
};

T_CASE(arguments_are_validated)
{
	begin();
	for (size_t i = 0; i < sizeof(configurations) / sizeof(configurations[0]); i++) {
		const struct plugin *plugin = configurations[i].plugin;
		const char *path = configurations[i].path;
		enum pl_code code = parse_args(plugin, configurations[i].text);

		if (path == NULL) {
			T_CODE(code, PL_OK, &err);
			plugin->args_drop(&model, &args);
			continue;
		}
		T_CODE(code, PL_INVALID, &err);
		if (strncmp(err.msg, path, strlen(path)) != 0)
			t_fail(__FILE__, __LINE__, "%s: want %s", err.msg, path);
	}
	end();
}

static enum pl_code read_both(void)
{
	enum pl_code code =
		parse_args(&plugin_fit, "{'ignoredResources': ['example.com/a'], "
	                                "'ignoredResourceGroups': ['example.org'], "
	                                "'scoringStrategy': {'type': 'LeastAllocated'}}");

	if (code == PL_OK)
		plugin_fit.args_drop(&model, &args);
	if (code == PL_OK)
		code = parse_args(&plugin_balanced_allocation, "");
	if (code == PL_OK)
		plugin_balanced_allocation.args_drop(&model, &args);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	bool fired = true;

	for (uint64_t nth = 1; fired; nth++) {
		enum pl_code code;

		begin();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = read_both();
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_CODE(code, fired ? PL_NOMEM : PL_OK, &err);
		T_TRUE(fired || nth > 5);
		end();
	}
}
