#include "store/base/fault.h"
#include "store/net/grpc.h"
#include "store/net/grpc_frame.h"
#include "tests/harness/t.h"

static void message_add(struct pl_buf *buf, size_t len)
{
	size_t start;

	T_OK(grpc_frame_begin(buf, &start), NULL);
	for (size_t i = 0; i < len; i++)
		T_OK(pl_buf_add(buf, pl_span(&(uint8_t){(uint8_t)(i + len)}, 1)), NULL);
	grpc_frame_end(buf, start);
}

static const size_t lens[] = {0, 1, 5, 300, 0, 70000, 2};

static void message_check(struct pl_span message, size_t len)
{
	T_EQ(message.len, len);
	for (size_t i = 0; i < len; i++)
		T_EQ(message.at[i], (uint8_t)(i + len));
}

/* Feeds one more piece and checks the messages that come out. */
static unsigned piece_take(struct grpc_decoder *decoder, struct pl_span in,
                           unsigned count)
{
	struct pl_span message;
	bool got = true;

	for (;;) {
		T_OK(grpc_decoder_next(decoder, &in, &got, &message, NULL), NULL);
		if (!got)
			break;
		message_check(message, lens[count++]);
	}
	T_EQ(in.len, 0);
	return count;
}

T_CASE(messages_come_back_from_pieces_of_any_size)
{
	struct grpc_decoder decoder;
	struct pl_buf wire;

	pl_buf_init(&wire, 1 << 20);
	for (unsigned i = 0; i < 7; i++)
		message_add(&wire, lens[i]);
	for (size_t piece = 1; piece <= wire.len; piece = piece * 3 + 1) {
		unsigned count = 0;

		grpc_decoder_init(&decoder, 70000);
		for (size_t at = 0; at < wire.len; at += piece) {
			size_t left = wire.len - at;

			count = piece_take(
				&decoder,
				pl_span(wire.at + at, left < piece ? left : piece),
				count);
		}
		T_EQ(count, 7);
		T_TRUE(grpc_decoder_between(&decoder));
		grpc_decoder_done(&decoder);
	}
	pl_buf_done(&wire);
}

T_CASE(a_message_in_one_chunk_is_not_copied)
{
	static const uint8_t wire[] = {0, 0, 0, 0, 2, 'h', 'i', 0, 0};
	struct pl_span in = pl_span(wire, sizeof wire), message;
	struct grpc_decoder decoder;
	bool got;

	grpc_decoder_init(&decoder, 10);
	T_OK(grpc_decoder_next(&decoder, &in, &got, &message, NULL), NULL);
	T_TRUE(got && message.at == wire + 5);
	T_OK(grpc_decoder_next(&decoder, &in, &got, &message, NULL), NULL);
	T_TRUE(!got && !grpc_decoder_between(&decoder));
	T_EQ(decoder.body.cap, 0);
	grpc_decoder_done(&decoder);
}

static enum pl_code decode(const char *bytes, size_t len, size_t max, struct pl_err *err)
{
	struct pl_span in = pl_span(bytes, len), message;
	struct grpc_decoder decoder;
	enum pl_code code;
	bool got;

	grpc_decoder_init(&decoder, max);
	code = grpc_decoder_next(&decoder, &in, &got, &message, err);
	grpc_decoder_done(&decoder);
	return code;
}

T_CASE(unacceptable_messages_are_refused_by_their_prefix)
{
	struct pl_err err;

	T_OK(decode("\0\0\0\0\x0a", 5, 10, &err), &err);
	T_CODE(decode("\0\0\0\0\x0b", 5, 10, &err), PL_LIMIT, &err);
	T_STR(err.msg, "message of 11 bytes, at most 10");
	T_CODE(decode("\1\0\0\0\1", 5, 10, &err), PL_PROTO, &err);
	T_CODE(decode("HTTP/", 5, 10, &err), PL_PROTO, &err);
}

T_CASE(memory_grows_with_received_bytes_and_shrinks_again)
{
	static uint8_t piece[1 << 16];
	struct grpc_decoder decoder;
	struct pl_span in = pl_span("\0\x40\0\0\0", 5), message;
	bool got = false;

	grpc_decoder_init(&decoder, SIZE_MAX);
	T_OK(grpc_decoder_next(&decoder, &in, &got, &message, NULL), NULL);
	for (size_t came = 0; !got; came += sizeof piece) {
		T_TRUE(decoder.body.cap <= 2 * came + 64);
		in = pl_span(piece, sizeof piece);
		T_OK(grpc_decoder_next(&decoder, &in, &got, &message, NULL), NULL);
	}
	T_EQ(message.len, 1 << 30);
	in = pl_span("", 0);
	T_OK(grpc_decoder_next(&decoder, &in, &got, &message, NULL), NULL);
	T_EQ(decoder.body.cap, 0);
	grpc_decoder_done(&decoder);
}

T_CASE(failed_allocations_are_errors)
{
	struct grpc_decoder decoder;
	struct pl_span in = pl_span("\0\0\0\0\x09xyz", 8), message;
	bool got;

	grpc_decoder_init(&decoder, 100);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_CODE(grpc_decoder_next(&decoder, &in, &got, &message, NULL), PL_NOMEM, NULL);
	grpc_decoder_done(&decoder);
}
