#include "shardsched/explain/reason_text.h"

#include "shardsched/model/taints.h"
#include "shardsched/snapshot/snapshot.h"
#include "store/base/quantity.h"

/* {a}: the amount and its resource; {t}: the taint. A reason without a row is printed in
 * kube-scheduler's words. */
static const struct phrase {
	const char *many, *one;
} phrases[REASON_CODES] = {
	[REASON_UNSCHEDULABLE] = {"are cordoned", "is cordoned"},
	[REASON_NODE_NAME] = {"have another name than it asks for",
                              "has another name than it asks for"},
	[REASON_TAINT] = {"have a taint {t}", "has a taint {t}"},
	[REASON_AFFINITY] = {"do not match its node affinity or selector",
                             "does not match its node affinity or selector"},
	[REASON_AFFINITY_ADDED] = {"do not match the node affinity of the profile",
                                   "does not match the node affinity of the profile"},
	[REASON_PORTS] = {"have a host port that it wants in use",
                          "has a host port that it wants in use"},
	[REASON_FIT_PODS] = {"have as many pods as they may",
                             "has as many pods as it may"},
	[REASON_FIT_CPU] = {"lack {a}", "lacks {a}"},
	[REASON_FIT_MEMORY] = {"lack {a}", "lacks {a}"},
	[REASON_FIT_STORAGE] = {"lack {a}", "lacks {a}"},
	[REASON_FIT_SCALAR] = {"lack {a}", "lacks {a}"},
	[REASON_DISK_CONFLICT] = {"have a pod that uses the same disk",
                                  "has a pod that uses the same disk"},
	[REASON_VOLUME_LIMIT] = {"can attach no more volumes",
                                 "can attach no more volumes"},
	[REASON_SPREAD] = {"are where there are too many of its kind already",
                           "is where there are too many of its kind already"},
	[REASON_SPREAD_LABEL] = {"have no label that it is to be spread by",
                                 "has no label that it is to be spread by"},
	[REASON_POD_AFFINITY] = {"are not near the pods that it has to be near",
                                 "is not near the pods that it has to be near"},
	[REASON_POD_ANTI_AFFINITY] = {"are near pods that it keeps away from",
                                      "is near pods that it keeps away from"},
	[REASON_POD_ANTI_AFFINITY_OTHERS] = {"are near pods that keep it away",
                                             "is near pods that keep it away"},
};

bool reason_is_amount(const struct reason *reason)
{
	switch ((enum reason_code)reason->code) {
	case REASON_FIT_CPU:
	case REASON_FIT_MEMORY:
	case REASON_FIT_STORAGE:
	case REASON_FIT_SCALAR:
		return true;
	default:
		return false;
	}
}

struct pl_span reason_resource(const struct model *model, const struct reason *reason)
{
	switch ((enum reason_code)reason->code) {
	case REASON_FIT_CPU:
		return PL_SPAN_LIT("cpu");
	case REASON_FIT_MEMORY:
		return PL_SPAN_LIT("memory");
	case REASON_FIT_STORAGE:
		return PL_SPAN_LIT("ephemeral-storage");
	default:
		return model_text(model, reason->subject);
	}
}

enum pl_code reason_amount(const struct reason *reason, int64_t amount,
                           struct pl_buf *out)
{
	char text[PL_QUANTITY_TEXT_SIZE];
	bool cpu = reason->code == REASON_FIT_CPU;
	bool binary =
		reason->code == REASON_FIT_MEMORY || reason->code == REASON_FIT_STORAGE;
	struct pl_quantity quantity = {
		.nano = (pl_int128)amount * (cpu ? 1000000 : 1000000000),
		.form = binary ? PL_QUANTITY_BINARY : PL_QUANTITY_DECIMAL,
	};

	return pl_buf_add_str(out, pl_quantity_print(quantity, text));
}

static enum pl_code add_lack(const struct model *model, const struct reason *reason,
                             struct pl_buf *out)
{
	enum pl_code code = reason_amount(reason, reason->lacks, out);

	if (code == PL_OK)
		code = pl_buf_add_str(out, " ");
	if (code == PL_OK)
		code = pl_buf_add(out, reason_resource(model, reason));
	return code;
}

static enum pl_code add_taint(const struct model *model, const struct reason *reason,
                              struct pl_buf *out)
{
	struct pl_span key = model_text(model, reason->subject);
	struct pl_span value = model_text(model, reason->value);

	return pl_buf_printf(out, PL_SPAN_FMT "%s" PL_SPAN_FMT ":%s", PL_SPAN_ARG(key),
	                     value.len > 0 ? "=" : "", PL_SPAN_ARG(value),
	                     taint_effect_word((enum taint_effect)reason->detail));
}

static enum pl_code fill_phrase(const struct model *model, const struct reason *reason,
                                const char *phrase, struct pl_buf *out)
{
	enum pl_code code = PL_OK;

	for (; code == PL_OK && *phrase != 0; phrase++) {
		if (*phrase != '{') {
			code = pl_buf_add(out, pl_span(phrase, 1));
			continue;
		}
		code = phrase[1] == 'a' ? add_lack(model, reason, out)
		                        : add_taint(model, reason, out);
		phrase += 2;
	}
	return code;
}

enum pl_code reason_text(const struct model *model, const struct reason *reason,
                         bool many, struct pl_buf *out)
{
	const struct phrase *phrase = &phrases[reason->code];
	enum pl_code code;

	if (phrase->many != NULL)
		return fill_phrase(model, reason, many ? phrase->many : phrase->one, out);
	code = pl_buf_add_str(out, many ? "say: " : "says: ");
	return code == PL_OK ? reason_print(&model->strings, reason, out) : code;
}

enum pl_code reason_node(const struct model *model, const struct node_row *row,
                         struct pl_buf *out)
{
	enum pl_code code = PL_OK;

	if (row->cluster != 0)
		code = pl_buf_add(out, model_text(model, row->cluster));
	if (code == PL_OK && row->cluster != 0)
		code = pl_buf_add_str(out, "/");
	return code == PL_OK ? pl_buf_add(out, model_text(model, row->node.name)) : code;
}
