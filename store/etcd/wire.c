#include "store/etcd/wire.h"

bool wire_read_long_varint(struct wire_reader *reader, unsigned bytes_max, uint64_t *out)
{
	const uint8_t *at = reader->at;
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes_max && at != reader->end; i++) {
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

	/* Groups are obsolete; etcd has none. */
	if (size == 0 || reader->end - reader->at < size) {
		reader->bad = true;
		return false;
	}
	reader->at += size;
	return true;
}
