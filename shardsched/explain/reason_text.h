/* A reason in few words, about one node or many: "lack 2 cpu", "has a taint gpu=only". */
#ifndef SHARDSCHED_EXPLAIN_REASON_TEXT_H
#define SHARDSCHED_EXPLAIN_REASON_TEXT_H

#include "shardsched/framework/reason.h"
#include "shardsched/model/model.h"

/* Adds the words without their subject. many: for "12 nodes lack", else "it lacks". */
PL_NODISCARD enum pl_code reason_text(const struct model *model,
                                      const struct reason *reason, bool many,
                                      struct pl_buf *out);

/* Whether the reason is about an amount; and an amount of its resource in words: "2",
 * "1536Mi". */
bool reason_is_amount(const struct reason *reason);
PL_NODISCARD enum pl_code reason_amount(const struct reason *reason, int64_t amount,
                                        struct pl_buf *out);
/* The resource of the amount: "cpu". */
struct pl_span reason_resource(const struct model *model, const struct reason *reason);

/* Adds "east/node-7", or "node-7" for a node without a cluster. */
struct node_row;
PL_NODISCARD enum pl_code reason_node(const struct model *model,
                                      const struct node_row *row, struct pl_buf *out);

#endif
