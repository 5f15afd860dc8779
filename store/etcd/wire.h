/*
 * Protobuf's wire format, the part that etcd's frequent messages need: varints and
 * length-delimited fields.
 *
 * Invariants: a writer writes to memory whose size a size pass has computed. A reader
 * never reads past its end; malformed bytes set bad, and stay bad.
 */
#ifndef STORE_ETCD_WIRE_H
#define STORE_ETCD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "store/base/span.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

#define WIRE_TAG(number, type) ((uint32_t)(number) << 3 | (uint32_t)(type))

/* -- writing ----------------------------------------------------------- */

static inline size_t wire_varint_size(uint64_t value)
{
	/* 9/64 approximates 1/7 exactly enough for every count of bits up to 64. */
	unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);

	return (bits * 9 + 64) / 64;
}

static inline uint8_t *wire_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* A field with protobuf's default value is not written. */
static inline size_t wire_int_size(uint32_t tag, int64_t value)
{
	return value == 0 ? 0 : wire_varint_size(tag) + wire_varint_size((uint64_t)value);
}

static inline uint8_t *wire_int(uint8_t *at, uint32_t tag, int64_t value)
{
	return value == 0 ? at : wire_varint(wire_varint(at, tag), (uint64_t)value);
}

/* A submessage or a chosen branch of a oneof is written even when it is empty. */
static inline size_t wire_sub_size(uint32_t tag, size_t len)
{
	return wire_varint_size(tag) + wire_varint_size(len) + len;
}

static inline uint8_t *wire_sub(uint8_t *at, uint32_t tag, size_t len)
{
	return wire_varint(wire_varint(at, tag), len);
}

static inline uint8_t *wire_raw(uint8_t *at, struct pl_span span)
{
	if (span.len != 0)
		memcpy(at, span.at, span.len);
	return at + span.len;
}

static inline size_t wire_bytes_size(uint32_t tag, struct pl_span span)
{
	return span.len == 0 ? 0 : wire_sub_size(tag, span.len);
}

static inline uint8_t *wire_bytes(uint8_t *at, uint32_t tag, struct pl_span span)
{
	return span.len == 0 ? at : wire_raw(wire_sub(at, tag, span.len), span);
}

/* -- reading ----------------------------------------------------------- */

struct wire_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool bad; /* the bytes are not protobuf */
};

/* One field: bytes for WIRE_BYTES, number for WIRE_VARINT. */
struct wire_field {
	uint32_t tag;
	uint64_t number;
	struct pl_span bytes;
};

static inline struct wire_reader wire_reader(struct pl_span span)
{
	/* Arithmetic on NULL is undefined even when nothing is read. */
	const uint8_t *at = span.len == 0 ? (const uint8_t *)"" : span.at;

	return (struct wire_reader){.at = at, .end = at + span.len};
}

enum { WIRE_VARINT_MAX = 10, WIRE_VARINT32_MAX = 5 }; /* bytes */

bool wire_read_long_varint(struct wire_reader *reader, unsigned bytes_max, uint64_t *out);
bool wire_skip_fixed(struct wire_reader *reader, struct wire_field *field);

static inline bool wire_read_varint(struct wire_reader *reader, uint64_t *out)
{
	if (reader->at != reader->end && *reader->at < 0x80) {
		*out = *reader->at++;
		return true;
	}
	return wire_read_long_varint(reader, WIRE_VARINT_MAX, out);
}

/* Reads a tag or a length. */
static inline bool wire_read_varint32(struct wire_reader *reader, uint64_t *out)
{
	if (reader->at != reader->end && *reader->at < 0x80) {
		*out = *reader->at++;
		return true;
	}
	return wire_read_long_varint(reader, WIRE_VARINT32_MAX, out);
}

/* Reads the next field. False at the end, and when bad is set. */
static inline bool wire_next(struct wire_reader *reader, struct wire_field *field)
{
	uint64_t value;

	if (reader->at == reader->end || !wire_read_varint32(reader, &value))
		return false;
	if (value >> 3 == 0 || value > UINT32_MAX) {
		reader->bad = true;
		return false;
	}
	field->tag = (uint32_t)value;
	if ((value & 7) == WIRE_VARINT)
		return wire_read_varint(reader, &field->number);
	if ((value & 7) != WIRE_BYTES)
		return wire_skip_fixed(reader, field);
	if (!wire_read_varint32(reader, &value))
		return false;
	if (value > (uint64_t)(reader->end - reader->at)) {
		reader->bad = true;
		return false;
	}
	field->bytes = pl_span(reader->at, (size_t)value);
	reader->at += value;
	return true;
}

/* Whether the tag is one of the fields in the mask (bit n: field n), with any type. For
 * the default of a switch over tags: a known field with a wrong type is not an unknown
 * field to be skipped. */
static inline bool wire_tag_in(uint32_t tag, uint64_t mask)
{
	uint32_t number = tag >> 3;

	return number < 64 && (mask >> number & 1) != 0;
}

#endif
