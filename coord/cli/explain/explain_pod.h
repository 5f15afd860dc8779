/* The explanation of a pod for people, and for machines. */
#ifndef COORD_CLI_EXPLAIN_EXPLAIN_POD_H
#define COORD_CLI_EXPLAIN_EXPLAIN_POD_H

#include "coord/service/explain/pod_explain.h"
#include "store/base/buf.h"

/* explain NULL: the pod has run, and nothing is to be decided. */
PL_NODISCARD enum pl_code explain_pod_text(const struct pod_explanation *pod,
                                           const struct explain *explain,
                                           struct pl_buf *out);
/* Indented. */
PL_NODISCARD enum pl_code explain_pod_json(const struct pod_explanation *pod,
                                           const struct explain *explain,
                                           struct pl_buf *out, struct pl_err *err);

#endif
