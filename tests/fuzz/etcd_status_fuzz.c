/* A server's refusal: the first byte is gRPC's status, the rest its text, which is also
 * parsed as the reason of a canceled watch. */
#include "store/etcd/status.h"
#include "tests/fuzz/fuzz.h"

static void check_status(const struct status *status, bool is_write, struct pl_span text)
{
	struct pl_err err = {0};
	enum pl_code code = status_err(status, is_write, text, &err);

	PL_ASSERT(code != PL_OK && err.code == code);
	PL_ASSERT(code ==
	          (is_write && status->maybe_applied ? PL_UNKNOWN : status->code));
	PL_ASSERT(memchr(err.msg, 0, sizeof err.msg) != NULL && err.msg[0] != 0);
	for (const char *at = err.msg; *at != 0; at++)
		PL_ASSERT(*at >= ' ' && *at <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct status status;
	struct pl_span text;

	if (size == 0)
		return 0;
	text = pl_span(data + 1, size - 1);
	status = status_of(data[0], text);
	PL_ASSERT((status.code == PL_OK) == (data[0] == GRPC_OK));
	if (status.code != PL_OK) {
		check_status(&status, false, text);
		check_status(&status, true, text);
	}
	status = status_of_reason(text);
	PL_ASSERT(status.code != PL_OK);
	check_status(&status, false, text);
	return 0;
}
