/* Writes what the engine decided, as the object "expect" of the cases. */
#ifndef COORD_CLI_EVAL_EVAL_VERDICTS_H
#define COORD_CLI_EVAL_EVAL_VERDICTS_H

#include "shardsched/engine/engine.h"
#include "store/base/buf.h"

/* About the engine's last decision; adds to out. */
PL_NODISCARD enum pl_code eval_verdicts(struct engine *engine, struct pl_arena *arena,
                                        const struct engine_decision *decision,
                                        struct pl_buf *out, struct pl_err *err);

/* {"valid":false,"errors":[{"detail":...,"field":...,"type":...}]} */
PL_NODISCARD enum pl_code eval_validity(const struct field_errors *errors,
                                        struct pl_buf *out, struct pl_err *err);
/* {"decodeError":...,"valid":false} */
PL_NODISCARD enum pl_code eval_not_decoded(const struct pl_err *why, struct pl_buf *out,
                                           struct pl_err *err);

#endif
