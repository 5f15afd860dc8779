#include "store/net/tls_bio.h"

#include <pthread.h>
#include <string.h>

static int bio_read(BIO *bio, char *to, int size)
{
	struct tls_bio *bytes = BIO_get_data(bio);
	size_t count = bytes->in.len;

	BIO_clear_retry_flags(bio);
	if (size <= 0)
		return 0;
	if (count == 0) {
		BIO_set_retry_read(bio);
		return -1;
	}
	if (count > (size_t)size)
		count = (size_t)size;
	memcpy(to, bytes->in.at, count);
	bytes->in.at += count;
	bytes->in.len -= count;
	return (int)count;
}

static int bio_write(BIO *bio, const char *from, int size)
{
	struct tls_bio *bytes = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (size <= 0)
		return 0;
	if (pl_buf_add(bytes->out, pl_span(from, (size_t)size)) != PL_OK) {
		bytes->no_memory = true;
		return -1;
	}
	return size;
}

static long bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
	(void)bio;
	(void)num;
	(void)ptr;
	return cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *span_method; /* one a process, made on first use */

static void method_make(void)
{
	span_method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "placet");
	if (span_method == NULL)
		return;
	(void)BIO_meth_set_read(span_method, bio_read);
	(void)BIO_meth_set_write(span_method, bio_write);
	(void)BIO_meth_set_ctrl(span_method, bio_ctrl);
}

BIO *tls_bio_new(struct tls_bio *bytes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	BIO *bio;

	(void)pthread_once(&once, method_make);
	bio = span_method == NULL ? NULL : BIO_new(span_method);
	if (bio == NULL)
		return NULL;
	BIO_set_data(bio, bytes);
	BIO_set_init(bio, 1);
	return bio;
}
