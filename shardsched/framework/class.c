/* A class of pods under one profile: one block of memory with what its plugins keep for
 * it. */
#include <stdlib.h>

#include "shardsched/framework/cycle.h"
#include "store/base/alloc.h"

enum { OWN_ALIGN = 16 };

static size_t align_size(size_t size)
{
	return (size + OWN_ALIGN - 1) / OWN_ALIGN * OWN_ALIGN;
}

void fw_spec_call(const struct profile *profile, const struct spec *spec,
                  const struct snapshot *snapshot, unsigned plugin,
                  struct plugin_call *out)
{
	*out = (struct plugin_call){
		.snapshot = snapshot, .spec = spec, .args = profile->args[plugin]};
}

void fw_class_call(const struct fw_class *class, const struct snapshot *snapshot,
                   unsigned plugin, struct plugin_call *out)
{
	*out = (struct plugin_call){
		.snapshot = snapshot,
		.spec = class->view->spec,
		.view = class->view,
		.args = class->profile->args[plugin],
		.class_state = class->class_state[plugin],
	};
}

/* Closes the plugins of the mask, the last one first. */
static void plugins_close(struct snapshot *snapshot, struct fw_class *class,
                          uint64_t plugins)
{
	while (plugins != 0) {
		unsigned i = 63 - (unsigned)__builtin_clzll(plugins);
		const struct plugin *row = class->profile->table->row[i];
		struct plugin_call call;

		plugins &= ~(UINT64_C(1) << i);
		fw_class_call(class, snapshot, i, &call);
		if (row->close != NULL)
			row->close(snapshot, &call);
	}
}

static enum pl_code plugins_open(struct snapshot *snapshot, struct fw_class *class,
                                 struct pl_err *err)
{
	uint64_t enabled = class->profile->enabled;

	for (uint64_t left = enabled; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		const struct plugin *row = class->profile->table->row[i];
		struct plugin_call call;
		enum pl_code code = PL_OK;

		fw_class_call(class, snapshot, i, &call);
		if (row->open != NULL)
			code = row->open(snapshot, &call, err);
		if (code != PL_OK) {
			plugins_close(snapshot, class,
			              enabled & ((left & (0 - left)) - 1));
			return code;
		}
	}
	return PL_OK;
}

static struct fw_class *class_make(const struct profile *profile)
{
	size_t size = align_size(sizeof(struct fw_class));
	struct fw_class *class = NULL;
	char *at = NULL;

	for (uint64_t left = profile->enabled; left != 0; left &= left - 1)
		size += align_size(
			profile->table->row[__builtin_ctzll(left)]->class_state_size);
	class = pl_calloc(1, size);
	if (class == NULL)
		return NULL;
	class->profile = profile;
	at = (char *)class + align_size(sizeof *class);
	for (uint64_t left = profile->enabled; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		size_t state_size = profile->table->row[i]->class_state_size;

		class->class_state[i] = state_size == 0 ? NULL : at;
		at += align_size(state_size);
	}
	return class;
}

enum pl_code fw_class_open(struct snapshot *snapshot, const struct profile *profile,
                           const struct spec *spec, struct fw_class **out,
                           struct pl_err *err)
{
	struct fw_class *class = class_make(profile);
	enum pl_code code = PL_OK;

	if (class == NULL)
		return pl_err_set(err, PL_NOMEM, "class of pods: out of memory");
	code = view_open(snapshot, spec, &class->view, err);
	if (code != PL_OK)
		goto fail_view;
	code = plugins_open(snapshot, class, err);
	if (code != PL_OK)
		goto fail_open;
	*out = class;
	return PL_OK;
fail_open:
	view_close(snapshot, class->view);
fail_view:
	free(class);
	return code;
}

void fw_class_close(struct snapshot *snapshot, struct fw_class *class)
{
	if (class == NULL)
		return;
	PL_ASSERT(class->cache == NULL);
	plugins_close(snapshot, class, class->profile->enabled);
	view_close(snapshot, class->view);
	free(class);
}

bool fw_gated(const struct profile *profile, const struct spec *spec,
              const struct snapshot *snapshot, const struct pod_self *pod,
              struct verdict *verdict)
{
	const struct profile_point *at = &profile->at[POINT_PRE_ENQUEUE];

	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];
		enum verdict_code code = VERDICT_SUCCESS;
		struct plugin_call call;

		verdict_clear(verdict);
		fw_spec_call(profile, spec, snapshot, plugin, &call);
		call.pod = pod;
		code = profile->table->row[plugin]->pre_enqueue(&call, verdict);
		if (code == VERDICT_SUCCESS)
			continue;
		verdict->code = code;
		verdict->plugin = (int)plugin;
		return true;
	}
	verdict_clear(verdict);
	return false;
}
