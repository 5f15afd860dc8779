/* Messages come out the same for pieces of any size, and no memory is allocated for
 * bytes that have not come. The first byte sets the size of the pieces. */
#include "store/net/grpc_frame.h"
#include "tests/fuzz/fuzz.h"

enum { MESSAGE_MAX = 100000 };

struct result {
	enum pl_code code;
	unsigned messages;
	uint32_t sum;
	bool between;
};

static void take_message(struct result *result, struct pl_span message)
{
	PL_ASSERT(message.len <= MESSAGE_MAX);
	result->messages++;
	result->sum = result->sum * 31 + (uint32_t)message.len;
	for (size_t i = 0; i < message.len; i++)
		result->sum = result->sum * 31 + message.at[i];
}

static struct result decode_frames(const uint8_t *data, size_t size, size_t piece)
{
	struct result result = {.code = PL_OK};
	struct grpc_decoder decoder;
	struct pl_err err;

	grpc_decoder_init(&decoder, MESSAGE_MAX);
	for (size_t at = 0; at < size && result.code == PL_OK; at += piece) {
		size_t left = size - at;
		struct pl_span in = pl_span(data + at, left < piece ? left : piece);
		struct pl_span message;
		bool got = true;

		while (got && result.code == PL_OK) {
			result.code =
				grpc_decoder_next(&decoder, &in, &got, &message, &err);
			if (result.code == PL_OK && got)
				take_message(&result, message);
		}
		PL_ASSERT(result.code != PL_OK || in.len == 0);
		PL_ASSERT(decoder.body.cap <= 2 * size + 64);
	}
	PL_ASSERT(result.code == PL_OK || result.code == err.code);
	result.between = grpc_decoder_between(&decoder);
	grpc_decoder_done(&decoder);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct result whole, pieces;

	if (size == 0)
		return 0;
	whole = decode_frames(data + 1, size - 1, size);
	pieces = decode_frames(data + 1, size - 1, (size_t)data[0] + 1);
	PL_ASSERT(whole.code == pieces.code && whole.messages == pieces.messages);
	PL_ASSERT(whole.sum == pieces.sum && whole.between == pieces.between);
	return 0;
}
