#include "coord/service/base/key_list.h"
#include "tests/support/store/memkv/kit.h"

enum { MANY = 2500 };

static struct kit kit;
static struct service service;
static struct key_list *list;
static const char *const prefixes[] = {"/b/", "/a/"};
static unsigned at, keys, dones;
static char text[256];
static int64_t revision;
static struct pl_err failure;
static enum pl_code each_code;

static enum pl_code on_prefix(void *ctx, struct keys_text *out, struct pl_err *err)
{
	(void)ctx;
	(void)err;
	if (at == 2)
		return PL_NOTFOUND;
	out->len = strlen(prefixes[at]);
	memcpy(out->at, prefixes[at++], out->len);
	return PL_OK;
}

static enum pl_code on_each(void *ctx, const struct kv_record *record, struct pl_err *err)
{
	size_t len = strlen(text);

	(void)ctx;
	if (each_code != PL_OK)
		return pl_err_set(err, each_code, "no more");
	keys++;
	if (len + record->key.len + 2 < sizeof text)
		(void)snprintf(text + len, sizeof text - len, PL_SPAN_FMT " ",
		               PL_SPAN_ARG(record->key));
	return PL_OK;
}

static void on_done(void *ctx, int64_t at_revision, const struct pl_err *err)
{
	(void)ctx;
	dones++;
	revision = at_revision;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static void up(void)
{
	kit_open(&kit, NULL);
	service = (struct service){.kv = kit.kv, .partitions = 8, .timeout_ms = 1000};
	at = keys = dones = 0;
	text[0] = 0;
	each_code = PL_OK;
}

static void start_at(int64_t from)
{
	struct key_list_opts opts = {
		.revision = from, .prefix = on_prefix, .each = on_each, .done = on_done};

	T_OK(key_list_start(&service, &opts, &list, &kit.err), &kit.err);
	T_EQ(at + keys + dones, 0);
}

T_CASE(keys_of_each_prefix_come_in_order)
{
	up();
	(void)kit_put(&kit, "/a/2", "x");
	(void)kit_put(&kit, "/a/1", "x");
	(void)kit_put(&kit, "/b/1", "x");
	(void)kit_put(&kit, "/c/1", "x");
	start_at(0);
	kit_until(&kit, 10);
	T_STR(text, "/b/1 /a/1 /a/2 ");
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(revision, memkv_revision(kit.mem));
	kit_close(&kit);
}

T_CASE(many_keys_come_page_by_page_as_they_were_at_first)
{
	char key[32];

	up();
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(key, sizeof key, "/a/%05u", i);
		(void)kit_put(&kit, key, "x");
	}
	start_at(0);
	kit_run(&kit, 0);
	(void)kit_put(&kit, "/a/99999", "later");
	kit_until(&kit, 10);
	T_EQ(dones, 1);
	T_EQ(keys, MANY);
	kit_close(&kit);
}

T_CASE(a_compacted_revision_gives_way_to_the_newest)
{
	int64_t old;

	up();
	old = kit_put(&kit, "/a/1", "x");
	(void)kit_put(&kit, "/a/2", "x");
	T_EQ(kit_compact(&kit, memkv_revision(kit.mem)), PL_OK);
	start_at(old);
	kit_until(&kit, 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_STR(text, "/a/1 /a/2 ");
	T_EQ(revision, memkv_revision(kit.mem));
	kit_close(&kit);
}

T_CASE(an_exact_list_of_a_compacted_revision_fails)
{
	struct key_list_opts opts = {
		.exact = true, .prefix = on_prefix, .each = on_each, .done = on_done};

	up();
	opts.revision = kit_put(&kit, "/a/1", "x");
	(void)kit_put(&kit, "/a/2", "x");
	T_EQ(kit_compact(&kit, memkv_revision(kit.mem)), PL_OK);
	T_OK(key_list_start(&service, &opts, &list, &kit.err), &kit.err);
	kit_until(&kit, 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_COMPACTED, &failure);
	T_EQ(keys, 0);
	kit_close(&kit);
}

T_CASE(an_error_of_the_caller_ends_the_list)
{
	up();
	(void)kit_put(&kit, "/a/1", "x");
	each_code = PL_CORRUPT;
	start_at(0);
	kit_until(&kit, 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CORRUPT, &failure);
	kit_close(&kit);
}

T_CASE(cancel_ends_through_done)
{
	up();
	(void)kit_put(&kit, "/a/1", "x");
	start_at(0);
	key_list_cancel(list);
	T_EQ(dones, 0);
	kit_until(&kit, 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	kit_close(&kit);
}
