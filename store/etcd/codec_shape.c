/*
 * The shape of a transaction: which operations its lists hold, without the keys.
 *
 *   transaction = list list           then, otherwise
 *   list        = run* 0
 *   run         = varint(count << 2 | op), followed by the transaction when op is
 *                 KV_TXN; the count is 1 then
 *
 * So a transaction of a thousand puts and as many reads on failure takes six bytes.
 */
#include "store/etcd/codec_internal.h"

#define RUN(op, count) ((uint64_t)(count) << 2 | (uint64_t)(op))
_Static_assert(KV_GET == 0 && KV_PUT < 4 && KV_DELETE < 4 && KV_TXN < 4, "two bits");

static enum pl_code add_number(struct pl_buf *shape, uint64_t number)
{
	enum pl_code code = pl_buf_reserve(shape, wire_varint_size(number));

	if (code == PL_OK)
		shape->len =
			(size_t)(wire_varint(shape->at + shape->len, number) - shape->at);
	return code;
}

/* NOLINTBEGIN(misc-no-recursion): requests are checked for their depth before. */
static enum pl_code add_txn(struct pl_buf *shape, const struct kv_txn *txn);

static enum pl_code add_list(struct pl_buf *shape, const struct kv_req *ops, size_t count)
{
	enum pl_code code = PL_OK;
	size_t run;

	for (size_t i = 0; i < count && code == PL_OK; i += run) {
		run = 1;
		while (ops[i].op != KV_TXN && i + run < count &&
		       ops[i + run].op == ops[i].op)
			run++;
		code = add_number(shape, RUN(ops[i].op, run));
		if (code == PL_OK && ops[i].op == KV_TXN)
			code = add_txn(shape, &ops[i].txn);
	}
	return code == PL_OK ? add_number(shape, 0) : code;
}

static enum pl_code add_txn(struct pl_buf *shape, const struct kv_txn *txn)
{
	enum pl_code code = add_list(shape, txn->then, txn->then_count);

	if (code != PL_OK)
		return code;
	return add_list(shape, txn->otherwise, txn->otherwise_count);
}

/* NOLINTEND(misc-no-recursion) */

enum pl_code codec_shape(const struct kv_txn *txn, struct pl_buf *shape,
                         struct pl_err *err)
{
	size_t len = shape->len;
	enum pl_code code = add_txn(shape, txn);

	if (code == PL_OK)
		return PL_OK;
	shape->len = len;
	return pl_err_set(err, code, "the shape of the transaction: %s",
	                  pl_code_name(code));
}

static uint64_t read_number(struct wire_reader *shape)
{
	uint64_t number = 0;
	bool ok = wire_read_varint(shape, &number);

	PL_ASSERT(ok);
	return number;
}

static void skip_txn(struct wire_reader *shape)
{
	/* Each transaction has two lists; a nested one adds its own before the list ends.
	 */
	unsigned open = 2;

	while (open > 0) {
		uint64_t run = read_number(shape);

		if (run == 0)
			open--;
		else if ((run & 3) == KV_TXN)
			open += 2;
	}
}

static void skip_list(struct wire_reader *shape)
{
	uint64_t run;

	while ((run = read_number(shape)) != 0)
		if ((run & 3) == KV_TXN)
			skip_txn(shape);
}

void codec_expect(struct wire_reader *shape, bool succeeded, struct codec_expect *out)
{
	*out = (struct codec_expect){.known = shape != NULL};
	if (shape == NULL)
		return;
	out->shape = *shape;
	skip_txn(shape);
	if (!succeeded)
		skip_list(&out->shape);
}

bool codec_expect_next(struct codec_expect *expect, enum kv_op op)
{
	if (!expect->known)
		return true;
	if (expect->run == 0) {
		uint64_t run = read_number(&expect->shape);

		if (run == 0)
			return false; /* more results than operations were requested */
		expect->run = run >> 2;
		expect->op = (enum kv_op)(run & 3);
	}
	expect->run--;
	return expect->op == op;
}

bool codec_expect_done(struct codec_expect *expect)
{
	return !expect->known || (expect->run == 0 && read_number(&expect->shape) == 0);
}
