/*
 * The messages of the watch stream, the hottest that the client decodes: 51 ns an event
 * with a value of 256 bytes, 71 ns with 4 KB. protobuf-c with the arena as its allocator
 * costs 128 and 482 ns, because it copies, and messages may have 64 MB.
 */
#include "store/etcd/codec_internal.h"

enum {
	/* WatchRequest */
	REQ_CREATE = WIRE_TAG(1, WIRE_BYTES),
	REQ_CANCEL = WIRE_TAG(2, WIRE_BYTES),
	REQ_PROGRESS = WIRE_TAG(3, WIRE_BYTES),
	/* WatchCreateRequest */
	CREATE_KEY = WIRE_TAG(1, WIRE_BYTES),
	CREATE_END = WIRE_TAG(2, WIRE_BYTES),
	CREATE_REVISION = WIRE_TAG(3, WIRE_VARINT),
	CREATE_PROGRESS = WIRE_TAG(4, WIRE_VARINT),
	CREATE_FILTERS = WIRE_TAG(5, WIRE_BYTES),
	CREATE_PREV = WIRE_TAG(6, WIRE_VARINT),
	CREATE_ID = WIRE_TAG(7, WIRE_VARINT),
	CREATE_FRAGMENT = WIRE_TAG(8, WIRE_VARINT),
	FILTER_PUT = 0,
	FILTER_DELETE = 1,
	/* WatchCancelRequest */
	CANCEL_ID = WIRE_TAG(1, WIRE_VARINT),
	/* WatchResponse */
	ANS_HEADER = WIRE_TAG(1, WIRE_BYTES),
	ANS_ID = WIRE_TAG(2, WIRE_VARINT),
	ANS_CREATED = WIRE_TAG(3, WIRE_VARINT),
	ANS_CANCELED = WIRE_TAG(4, WIRE_VARINT),
	ANS_COMPACT = WIRE_TAG(5, WIRE_VARINT),
	ANS_REASON = WIRE_TAG(6, WIRE_BYTES),
	ANS_FRAGMENT = WIRE_TAG(7, WIRE_VARINT),
	ANS_EVENTS = WIRE_TAG(11, WIRE_BYTES),
	ANS_FIELDS = 0xfe | 1 << 11,
	/* Event */
	EV_TYPE = WIRE_TAG(1, WIRE_VARINT),
	EV_RECORD = WIRE_TAG(2, WIRE_BYTES),
	EV_PREV = WIRE_TAG(3, WIRE_BYTES),
	EV_FIELDS = 0xe,
	TYPE_PUT = 0,
	TYPE_DELETE = 1,
};

static struct pl_span create_filters(const struct kv_watch_req *req)
{
	static const uint8_t filters[] = {FILTER_PUT, FILTER_DELETE};

	return pl_span(filters + (req->no_puts ? 0 : 1),
	               (req->no_puts ? 1u : 0u) + (req->no_deletes ? 1u : 0u));
}

enum pl_code codec_watch_create(const struct codec_watch_create *create,
                                struct pl_buf *out, struct pl_err *err)
{
	enum pl_code code = kv_check_watch(create->req, err);
	struct pl_span filters = create_filters(create->req);
	struct codec_range range;
	size_t size, whole;
	uint8_t *at;

	if (code != PL_OK)
		return code;
	PL_ASSERT(create->from_revision >= 0 && create->watch_id >= 0);
	range = codec_range(&create->req->keys);
	size = wire_bytes_size(CREATE_KEY, range.key) +
	       wire_bytes_size(CREATE_END, range.end) +
	       wire_int_size(CREATE_REVISION, create->from_revision) +
	       wire_int_size(CREATE_PROGRESS, create->progress_notify) +
	       wire_bytes_size(CREATE_FILTERS, filters) +
	       wire_int_size(CREATE_PREV, create->req->want_prev) +
	       wire_int_size(CREATE_ID, create->watch_id) +
	       wire_int_size(CREATE_FRAGMENT, create->fragment);
	whole = wire_sub_size(REQ_CREATE, size);
	code = codec_reserve(out, whole, err);
	if (code != PL_OK)
		return code;
	at = wire_sub(out->at + out->len, REQ_CREATE, size);
	at = wire_bytes(at, CREATE_KEY, range.key);
	at = codec_range_end(at, CREATE_END, &range);
	at = wire_int(at, CREATE_REVISION, create->from_revision);
	at = wire_int(at, CREATE_PROGRESS, create->progress_notify);
	at = wire_bytes(at, CREATE_FILTERS, filters);
	at = wire_int(at, CREATE_PREV, create->req->want_prev);
	at = wire_int(at, CREATE_ID, create->watch_id);
	at = wire_int(at, CREATE_FRAGMENT, create->fragment);
	out->len += whole;
	PL_ASSERT(at == out->at + out->len);
	return PL_OK;
}

enum pl_code codec_watch_cancel(int64_t watch_id, struct pl_buf *out, struct pl_err *err)
{
	size_t size = wire_int_size(CANCEL_ID, watch_id);
	size_t whole = wire_sub_size(REQ_CANCEL, size);
	enum pl_code code = codec_reserve(out, whole, err);

	if (code != PL_OK)
		return code;
	(void)wire_int(wire_sub(out->at + out->len, REQ_CANCEL, size), CANCEL_ID,
	               watch_id);
	out->len += whole;
	return PL_OK;
}

enum pl_code codec_watch_progress(struct pl_buf *out, struct pl_err *err)
{
	size_t whole = wire_sub_size(REQ_PROGRESS, 0);
	enum pl_code code = codec_reserve(out, whole, err);

	if (code != PL_OK)
		return code;
	(void)wire_sub(out->at + out->len, REQ_PROGRESS, 0);
	out->len += whole;
	return PL_OK;
}

/* The events being read; prevs is allocated when the first one comes. */
struct event_list {
	const struct codec_in *in;
	struct kv_event *at;
	size_t count;
	size_t room;
	struct kv_record *prevs;
	int64_t revision; /* revision of the previous event */
};

static enum pl_code prev_read(struct event_list *events, struct pl_span bytes,
                              struct kv_event *event)
{
	struct kv_record *prev;

	if (event->prev != NULL)
		return codec_bad(events->in, "two previous records");
	if (events->prevs == NULL)
		events->prevs = pl_arena_alloc(events->in->arena,
		                               events->room * sizeof *events->prevs);
	if (events->prevs == NULL)
		return codec_nomem(events->in);
	prev = &events->prevs[events->count];
	*prev = (struct kv_record){0};
	event->prev = prev;
	if (!codec_read_record(bytes, prev) || !codec_record_ok(prev))
		return codec_bad(events->in, "malformed previous record");
	return PL_OK;
}

static bool event_ok(const struct kv_event *event, uint64_t type, int64_t after)
{
	if (event->record.mod_revision < after || event->record.mod_revision <= 0)
		return false;
	if (type == TYPE_DELETE)
		return event->record.key.len != 0;
	return type == TYPE_PUT && codec_record_ok(&event->record);
}

static enum pl_code event_read(struct event_list *events, struct pl_span bytes)
{
	struct kv_event *event;
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	uint64_t type = TYPE_PUT;
	bool has_record = false;
	enum pl_code code = PL_OK;

	PL_ASSERT(events->count < events->room);
	event = &events->at[events->count];
	*event = (struct kv_event){0};
	while (code == PL_OK && wire_next(&reader, &field)) {
		switch (field.tag) {
		case EV_TYPE:
			type = field.number;
			break;
		case EV_RECORD:
			/* protobuf would merge a second record; etcd sends one */
			reader.bad |= has_record ||
			              !codec_read_record(field.bytes, &event->record);
			has_record = true;
			break;
		case EV_PREV:
			code = prev_read(events, field.bytes, event);
			break;
		default:
			reader.bad |= wire_tag_in(field.tag, EV_FIELDS);
		}
	}
	if (code != PL_OK)
		return code;
	if (reader.bad || !event_ok(event, type, events->revision))
		return codec_bad(events->in, "malformed event, or one out of order");
	event->is_delete = type == TYPE_DELETE;
	events->revision = event->record.mod_revision;
	events->count++;
	return PL_OK;
}

static enum pl_code events_room(struct pl_span bytes, struct event_list *events)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;

	while (wire_next(&reader, &field))
		events->room += field.tag == ANS_EVENTS;
	if (reader.bad)
		return codec_bad(events->in, "malformed message");
	if (events->room == 0)
		return PL_OK;
	events->at = pl_arena_alloc(events->in->arena, events->room * sizeof *events->at);
	return events->at == NULL ? codec_nomem(events->in) : PL_OK;
}

static enum pl_code field_read(struct event_list *events, const struct wire_field *field,
                               struct codec_watch *out, bool *has_header)
{
	switch (field->tag) {
	case ANS_HEADER:
		if (*has_header)
			return codec_bad(events->in, "two headers");
		*has_header = true;
		return codec_read_header(events->in, field->bytes, &out->header);
	case ANS_ID:
		out->watch_id = (int64_t)field->number;
		return PL_OK;
	case ANS_CREATED:
		out->created = field->number != 0;
		return PL_OK;
	case ANS_CANCELED:
		out->canceled = field->number != 0;
		return PL_OK;
	case ANS_COMPACT:
		out->compact_revision = (int64_t)field->number;
		return PL_OK;
	case ANS_REASON:
		out->cancel_reason = field->bytes;
		return PL_OK;
	case ANS_FRAGMENT:
		out->fragment = field->number != 0;
		return PL_OK;
	case ANS_EVENTS:
		return event_read(events, field->bytes);
	default:
		if (wire_tag_in(field->tag, ANS_FIELDS))
			return codec_bad(events->in, "field of the wrong type");
		return PL_OK;
	}
}

enum pl_code codec_watch_decode(struct pl_span bytes, struct pl_arena *arena,
                                struct codec_watch *out, struct pl_err *err)
{
	struct codec_in in = {.arena = arena, .what = "watch", .err = err};
	struct event_list events = {.in = &in};
	struct wire_reader reader = wire_reader(bytes);
	struct codec_watch decoded = {0};
	struct wire_field field;
	bool has_header = false;
	enum pl_code code = events_room(bytes, &events);

	while (code == PL_OK && wire_next(&reader, &field))
		code = field_read(&events, &field, &decoded, &has_header);
	if (code != PL_OK)
		return code;
	if (!has_header)
		return codec_bad(&in, "no header");
	if (decoded.compact_revision < 0 || decoded.watch_id < -1)
		return codec_bad(&in, "impossible number");
	decoded.events = events.at;
	decoded.count = events.count;
	*out = decoded;
	return PL_OK;
}
