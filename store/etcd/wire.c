#include "store/etcd/wire.h"

enum { VARINT_BYTES_MAX = 10 };

bool wire_read_varint_slow(struct wire_reader *reader, uint64_t *out)
{
	const uint8_t *at = reader->at;
	uint64_t value = 0;

	for (unsigned i = 0; i < VARINT_BYTES_MAX && at != reader->end; i++) {
		uint8_t byte = *at++;

		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			reader->at = at;
			*out = value;
			return true;
		}
	}
	reader->bad = true;
	return false;
}

bool wire_skip_fixed(struct wire_reader *reader, struct wire_field *field)
{
	uint32_t type = field->tag & 7;
	ptrdiff_t size = type == WIRE_FIXED64 ? 8 : type == WIRE_FIXED32 ? 4 : 0;

	/* Groups have been given up long ago; etcd has none. */
	if (size == 0 || reader->end - reader->at < size) {
		reader->bad = true;
		return false;
	}
	reader->at += size;
	return true;
}
