/*
 * Pod input: the pods of an object source, all of them read and checked once before
 * anything is done with the first, then handed over one after another, each with its
 * partition.
 *
 * PriorityClasses count wherever they stand in the input. Objects of other kinds than
 * those that pods are made of are passed over and counted; those of none, and of such as
 * look like a known one (kinds.h), are refused.
 * PodDisruptionBudgets are kept. Fields that are not known are kept, too, and told where
 * that is asked for. A name may come twice with the same content; with another it is
 * refused where that is asked for, since only one of them could be there.
 */
#ifndef COORD_SERVICE_INPUT_POD_INPUT_H
#define COORD_SERVICE_INPUT_POD_INPUT_H

#include "coord/service/input/budget_object.h"
#include "coord/service/input/duplicates.h"
#include "coord/service/input/object_source.h"
#include "coord/service/input/priority_classes.h"
#include "coord/service/input/rule_warnings.h"
#include "coord/service/input/unknown_fields.h"
#include "shardsched/expand/expand.h"
#include "shardsched/records/pod_location.h"

enum {
	POD_INPUT_KINDS_MAX = 16,
	POD_INPUT_KIND_SIZE = 64,
	POD_INPUT_BUDGETS_MAX = 10000,
	POD_INPUT_UNKNOWN_MAX = 20, /* kept; more are counted */
};

/* How unknown fields are handled (unknown_fields.h). */
enum pod_input_fields {
	POD_INPUT_FIELDS_PASS,
	POD_INPUT_FIELDS_TELL,
	POD_INPUT_FIELDS_REFUSE
};

struct pod_input_opts {
	struct object_source source; /* closed by pod_input_close */
	struct pl_span namespace;    /* of objects that name none; empty: "default" */
	uint32_t partitions;
	enum pod_input_fields fields;
	/* PriorityClasses of the store; may be NULL. A class in the input counts before
	 * one of the same name there. Borrowed for the check. */
	const struct class_table *classes;
	bool once; /* an object with a name that came with another content is refused */
	/* Gets each refused object: file, object, field and reason. */
	void (*refused)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* May not be moved. */
struct pod_input {
	struct pod_input_opts opts;
	struct expand expand;
	bool expanding; /* an object is at hand */
	/* Results of the check. */
	uint64_t pods, objects, refused;
	struct {
		char kind[POD_INPUT_KIND_SIZE];
		uint64_t count;
	} passed[POD_INPUT_KINDS_MAX]; /* the last one: all others */
	unsigned kinds;
	struct pod_input_unknown {
		char path[UNKNOWN_FIELD_PATH_SIZE];
		const char *like;     /* the field that may be meant; NULL: not known */
		const char *file;     /* where it stood first, */
		unsigned long number; /* in which object */
		uint64_t count;
	} unknown[POD_INPUT_UNKNOWN_MAX];
	unsigned unknowns;
	uint64_t unknown_more;
	const struct input_object *object; /* that is looked at */
	bool all_known;                    /* the last pods that were had nothing else */
	bool rules_fit;                    /* of the pod before */
	struct rule_warnings rules;        /* unknown fields are reported, too */
	struct duplicates duplicates;
	bool repeats;          /* something was refused for its name */
	struct pl_arena arena; /* of the budgets */
	struct budget_object *budget;
	uint32_t budgets, budgets_cap;
};

void pod_input_open(struct pod_input *pod_input, const struct pod_input_opts *opts);
void pod_input_close(struct pod_input *pod_input);

/* Reads everything, and reports what is refused. PL_OK also when something is;
 * errors are those of the process (PL_NOMEM). */
PL_NODISCARD enum pl_code pod_input_check(struct pod_input *pod_input,
                                          struct pl_err *err);

struct pod_input_pod {
	struct expand_pod pod;
	struct pod_location location;
};

/* To be called after the check. Refused objects have no pods. PL_NOTFOUND: no more
 * pods. *out is borrowed until the next call. */
PL_NODISCARD enum pl_code pod_input_next(struct pod_input *pod_input,
                                         struct pod_input_pod *out, struct pl_err *err);

#endif
