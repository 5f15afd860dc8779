/* A class that is asked about, for the tests of InterPodAffinity. */
#ifndef TESTS_SUPPORT_SHARDSCHED_PLUGINS_INTER_POD_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_PLUGINS_INTER_POD_RIG_H

#include "shardsched/plugins/inter_pod_affinity.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

static const struct plugin *const row = &plugin_inter_pod_affinity;
static struct inter_pod_args args_now = {.hard_weight = 1};

struct asked_class {
	struct pod pod;
	struct spec_view *view;
	struct inter_pod_class class_state;
};

static inline struct plugin_call call_of(struct asked_class *asked,
                                         struct inter_pod_state *state)
{
	return (struct plugin_call){
		.snapshot = &snapshot,
		.spec = asked->pod.spec,
		.view = asked->view,
		.args = &args_now,
		.class_state = &asked->class_state,
		.state = state,
		.arena = &arena,
	};
}

static inline enum pl_code asked_open(struct asked_class *asked)
{
	struct plugin_call call;
	enum pl_code code = view_open(&snapshot, asked->pod.spec, &asked->view, &err);

	if (code != PL_OK)
		return code;
	call = call_of(asked, NULL);
	code = row->open(&snapshot, &call, &err);
	if (code != PL_OK)
		view_close(&snapshot, asked->view);
	return code;
}

static inline void asked_close(struct asked_class *asked)
{
	struct plugin_call call = call_of(asked, NULL);

	row->close(&snapshot, &call);
	view_close(&snapshot, asked->view);
	pod_drop(&model, &asked->pod);
	asked->pod.spec = NULL;
}

#endif
