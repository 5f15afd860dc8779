#include "store/net/http_gzip.h"

#include <stdlib.h>
#include <zlib.h>

#include "store/base/alloc.h"
#include "store/net/unconst.h"

enum {
	GZIP_WINDOW = MAX_WBITS + 16, /* zlib's way to say gzip */
	PACK_LEVEL = 1,
	PACK_MEMORY = 8,
	STEP_MIN = 512,
	STEP_MAX = 64 * 1024,
};

struct http_gzip {
	z_stream z;
	bool packs;
	bool ended; /* unpacking: the end has been read */
};

static voidpf z_alloc(voidpf ctx, uInt count, uInt size)
{
	(void)ctx;
	return pl_malloc((size_t)count * size);
}

static void z_free(voidpf ctx, voidpf at)
{
	(void)ctx;
	free(at);
}

static struct http_gzip *gzip_new(bool packs)
{
	struct http_gzip *gzip = pl_calloc(1, sizeof *gzip);
	int rc;

	if (gzip == NULL)
		return NULL;
	gzip->packs = packs;
	gzip->z.zalloc = z_alloc;
	gzip->z.zfree = z_free;
	rc = packs ? deflateInit2(&gzip->z, PACK_LEVEL, Z_DEFLATED, GZIP_WINDOW,
	                          PACK_MEMORY, Z_DEFAULT_STRATEGY)
	           : inflateInit2(&gzip->z, GZIP_WINDOW);
	if (rc == Z_OK)
		return gzip;
	free(gzip);
	return NULL;
}

struct http_gzip *http_gunzip_new(void)
{
	return gzip_new(false);
}

struct http_gzip *http_gzip_new(void)
{
	return gzip_new(true);
}

void http_gzip_free(struct http_gzip *gzip)
{
	if (gzip == NULL)
		return;
	if (gzip->packs)
		(void)deflateEnd(&gzip->z);
	else
		(void)inflateEnd(&gzip->z);
	free(gzip);
}

/* Room for the next step's output: what out has left of its memory, or some more. */
static enum pl_code step_begin(struct http_gzip *gzip, struct pl_buf *out)
{
	size_t want = out->cap - out->len;

	if (want < STEP_MIN)
		want = out->len < STEP_MAX ? out->len + STEP_MIN : STEP_MAX;
	if (want > out->max - out->len)
		want = out->max - out->len;
	if (want > STEP_MAX)
		want = STEP_MAX;
	if (want == 0)
		return PL_LIMIT;
	if (pl_buf_reserve(out, want) != PL_OK)
		return PL_NOMEM;
	gzip->z.next_out = out->at + out->len;
	gzip->z.avail_out = (uInt)want;
	return PL_OK;
}

static void step_end(struct http_gzip *gzip, struct pl_buf *out)
{
	out->len = (size_t)(gzip->z.next_out - out->at);
}

/* A body that fills out to its last byte gets one byte of zlib's own to show that there
 * is no more. */
static enum pl_code gunzip_full(struct http_gzip *gzip)
{
	uint8_t more;
	int rc;

	gzip->z.next_out = &more;
	gzip->z.avail_out = 1;
	rc = inflate(&gzip->z, Z_NO_FLUSH);
	if (gzip->z.avail_out == 0)
		return PL_LIMIT;
	gzip->ended = rc == Z_STREAM_END;
	if (rc == Z_MEM_ERROR)
		return PL_NOMEM;
	return rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR ? PL_OK : PL_PROTO;
}

enum pl_code http_gunzip_add(struct http_gzip *gzip, struct pl_span packed,
                             struct pl_buf *out)
{
	gzip->z.next_in = unconst(packed.at);
	gzip->z.avail_in = (uInt)packed.len;
	while (!gzip->ended) {
		enum pl_code code = step_begin(gzip, out);
		int rc;

		if (code == PL_LIMIT)
			code = gunzip_full(gzip);
		else if (code == PL_OK) {
			rc = inflate(&gzip->z, Z_NO_FLUSH);
			step_end(gzip, out);
			gzip->ended = rc == Z_STREAM_END;
			if (rc == Z_MEM_ERROR)
				return PL_NOMEM;
			if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
				return PL_PROTO;
		}
		if (code != PL_OK)
			return code;
		if (gzip->z.avail_in == 0 && gzip->z.avail_out > 0)
			break;
	}
	return gzip->z.avail_in == 0 ? PL_OK : PL_PROTO;
}

bool http_gunzip_is_whole(const struct http_gzip *gzip)
{
	return gzip->ended || gzip->z.total_in == 0;
}

enum pl_code http_gzip_add(struct http_gzip *gzip, struct pl_span plain, bool last,
                           struct pl_buf *out)
{
	gzip->z.next_in = unconst(plain.at);
	gzip->z.avail_in = (uInt)plain.len;
	for (;;) {
		enum pl_code code = step_begin(gzip, out);
		int rc;

		if (code != PL_OK)
			return code;
		rc = deflate(&gzip->z, last ? Z_FINISH : Z_NO_FLUSH);
		step_end(gzip, out);
		if (rc == Z_STREAM_END)
			return PL_OK;
		if (rc != Z_OK && rc != Z_BUF_ERROR)
			return PL_NOMEM;
		if (!last && gzip->z.avail_in == 0 && gzip->z.avail_out > 0)
			return PL_OK;
	}
}
