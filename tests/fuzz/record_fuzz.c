/* A log of decisions from anywhere: replayed, or refused with a reason. */
#include "shardsched/decision_log/decision_log.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_span log = pl_span(data, size);
	struct replay *replay = NULL;
	struct pl_err err = {0};
	enum pl_code code = replay_new(&replay, &err);

	PL_ASSERT(code == PL_OK);
	while (code == PL_OK && log.len > 0) {
		const uint8_t *end = memchr(log.at, '\n', log.len);
		size_t len = end == NULL ? log.len : (size_t)(end - log.at);
		struct pl_span again;

		code = replay_line(replay, pl_span(log.at, len), &again, &err);
		PL_ASSERT(code == err.code);
		len += end != NULL;
		log = pl_span(log.at + len, log.len - len);
	}
	replay_free(replay);
	return 0;
}
