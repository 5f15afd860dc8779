/* placet explain pod, of the API: the server decides, and this prints its Explanation. */
#ifndef COORD_CLI_EXPLAIN_EXPLAIN_API_H
#define COORD_CLI_EXPLAIN_EXPLAIN_API_H

#include "coord/cli/session/api_session.h"

struct explanation_verdict {
	bool has_place; /* the pod has a node */
	bool nowhere;   /* the pod would get none */
};

/* json: the Explanation as it came, instead of a text. */
PL_NODISCARD enum pl_code explain_api(struct api_session *api, struct pl_span namespace,
                                      struct pl_span name, bool json,
                                      struct explanation_verdict *out,
                                      struct pl_err *err);

/* Adds the text of an Explanation. */
PL_NODISCARD enum pl_code explanation_text(struct pl_json explanation, int64_t now_ms,
                                           struct pl_buf *out);

#endif
