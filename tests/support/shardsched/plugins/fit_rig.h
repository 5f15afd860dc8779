/* Helpers of the tests of NodeResourcesFit and of the balance. */
#ifndef TESTS_SUPPORT_SHARDSCHED_PLUGINS_FIT_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_PLUGINS_FIT_RIG_H

#include "shardsched/plugins/fit.h"
#include "shardsched/plugins/plugins.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

static union {
	struct fit_args fit;
	char room[8192];
} args;

/* text empty: there are no arguments. */
static inline enum pl_code parse_args(const struct plugin *plugin, const char *text)
{
	struct pl_json json = {0};
	char room[4096];
	enum pl_code code = PL_OK;

	PL_ASSERT(plugin->args_size <= sizeof(args));
	if (text[0] != '\0')
		code = pl_json_parse(&arena, json_of(room, text), NULL, &json, &err);
	if (code == PL_OK)
		code = plugin->args_parse(&model, json, &args, &err);
	pl_arena_reset(&arena);
	return code;
}

static inline struct plugin_call call_of(const struct pod *pod)
{
	return (struct plugin_call){
		.snapshot = &snapshot, .spec = pod->spec, .args = &args};
}

#endif
