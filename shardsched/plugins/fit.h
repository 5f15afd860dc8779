/* Shared by the files of NodeResourcesFit: its arguments and its score. */
#ifndef SHARDSCHED_PLUGINS_FIT_H
#define SHARDSCHED_PLUGINS_FIT_H

#include "shardsched/plugins/amounts.h"

enum fit_strategy { FIT_LEAST_ALLOCATED, FIT_MOST_ALLOCATED, FIT_RATIO };

enum { FIT_IGNORED_MAX = 64, FIT_SHAPE_MAX = 64 };

struct fit_names {
	uint32_t count;
	uint32_t name[FIT_IGNORED_MAX]; /* strings, with references */
};

struct fit_args {
	struct fit_names ignored; /* extended resources */
	/* groups of extended resources: the name before the slash */
	struct fit_names ignored_groups;
	enum fit_strategy strategy;
	struct amount_list resources;
	uint8_t curve[101]; /* for FIT_RATIO: the score by percent in use */
};

enum pl_code fit_args_parse(struct model *model, struct pl_json json, void *args,
                            struct pl_err *err);
void fit_args_drop(struct model *model, void *args);

/* Whether NodeResourcesFit looks at that scalar. */
bool fit_counts(const struct model *model, const void *args, uint32_t scalar);
bool fit_score(const struct plugin_call *call, struct node_span span, int64_t *score);

#endif
