/* Books about nodes and their allocs, against memkv. */
#include "tests/support/shardsched/records/txn_builder_kit.h"

static int64_t revision_at(const char *key)
{
	return value_at(key) == NULL ? 0 : kit.result.get.records[0].mod_revision;
}

T_CASE(an_alloc_is_put_against_the_one_that_was_seen)
{
	struct builder_node node = n1();
	int64_t at, rev;

	up();
	at = kit_put(&kit, NODE, "node");
	rev = kit_put(&kit, ALLOC, "1");
	T_TRUE(builder_put_alloc(&builder, &node, rev, L("2")));
	T_TRUE(commit());
	T_STR(value_at(ALLOC), "2");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	is_record(found(0).alloc, rev + 1, "2");
	is_record(found(0).node, at, "");
	rev = kit_put(&kit, ALLOC, "3");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	is_record(found(0).alloc, rev, "3");
	delete (ALLOC);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_GONE);
	T_EQ(value_at(ALLOC), NULL);
	down();
}

T_CASE(a_node_comes_and_goes_with_its_alloc)
{
	struct builder_node node = n1();
	int64_t node_rev, alloc_rev;

	up();
	T_TRUE(builder_put_node(&builder, &node, 0, 0, L("node"), L("alloc")));
	T_TRUE(commit());
	node_rev = answer.header.revision;
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	is_record(found(0).node, node_rev, "node");
	is_record(found(0).alloc, node_rev, "alloc");
	/* Another commit changes the alloc, so the decision about the Node is stale. */
	alloc_rev = kit_put(&kit, ALLOC, "taken");
	begin();
	T_TRUE(builder_put_node(&builder, &node, node_rev, node_rev, L("cordoned"),
	                        L("")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	T_STR(value_at(NODE), "node");
	begin();
	T_TRUE(builder_put_node(&builder, &node, node_rev, alloc_rev, L("cordoned"),
	                        L("taken+")));
	T_TRUE(commit());
	T_STR(value_at(NODE), "cordoned");
	T_STR(value_at(ALLOC), "taken+");
	begin();
	T_TRUE(builder_delete_node(&builder, &node, node_rev, alloc_rev));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	node_rev = found(0).node->mod_revision;
	begin();
	T_TRUE(builder_delete_node(&builder, &node, node_rev, node_rev));
	T_TRUE(commit());
	T_EQ(value_at(NODE), NULL);
	T_EQ(value_at(ALLOC), NULL);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_GONE);
	down();
}

/* Just the Node was deleted. */
T_CASE(alloc_without_a_node_gets_one_or_is_deleted)
{
	struct builder_node node = n1();
	int64_t alloc_rev;

	up();
	alloc_rev = kit_put(&kit, ALLOC, "alloc");
	T_TRUE(builder_put_node(&builder, &node, 0, 0, L("node"), L("alloc+")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	T_EQ(found(0).node, NULL);
	is_record(found(0).alloc, alloc_rev, "alloc");
	begin();
	T_TRUE(builder_put_node(&builder, &node, 0, alloc_rev, L("node"), L("alloc+")));
	T_TRUE(commit());
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	T_STR(value_at(NODE), "node");
	begin();
	T_TRUE(builder_delete_node(&builder, &node, 0, alloc_rev));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	(void)kit_delete(&kit, kv_key(pl_span_str(NODE)));
	alloc_rev = kit_put(&kit, ALLOC, "alloc");
	begin();
	T_TRUE(builder_delete_node(&builder, &node, 0, alloc_rev));
	T_TRUE(commit());
	T_EQ(value_at(ALLOC), NULL);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_GONE);
	down();
}

T_CASE(node_changed_without_its_alloc_is_newer)
{
	struct builder_node node = n1();
	int64_t node_rev, alloc_rev;

	up();
	node_rev = kit_put(&kit, NODE, "node");
	alloc_rev = kit_put(&kit, ALLOC, "alloc");
	kit_put(&kit, NODE, "by hand");
	T_TRUE(builder_put_node(&builder, &node, node_rev, alloc_rev, L("mine"),
	                        L("mine")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	begin();
	T_TRUE(builder_delete_node(&builder, &node, node_rev, alloc_rev));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	T_STR(value_at(NODE), "by hand");
	down();
}

T_CASE(writes_of_nodes_put_the_shape_key_once)
{
	struct builder_node node = n1(), other = n1();
	int64_t revision;

	up();
	other.name = L("n2");
	T_TRUE(builder_put_node(&builder, &node, 0, 0, L("node"), L("alloc")));
	T_TRUE(builder_put_node(&builder, &other, 0, 0, L("node"), L("alloc")));
	T_TRUE(commit());
	revision = answer.header.revision;
	T_EQ(revision_at(SHAPE), revision);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	T_EQ(found(1).verdict, BUILDER_OURS);
	begin();
	T_TRUE(builder_put_alloc(&builder, &node, revision, L("taken")));
	T_TRUE(commit());
	T_EQ(revision_at(SHAPE), revision);
	begin();
	T_TRUE(builder_delete_node(&builder, &other, revision, revision));
	T_TRUE(commit());
	T_TRUE(revision_at(SHAPE) > revision);
	down();
}

T_CASE(bumped_key_is_put_without_a_compare)
{
	struct builder_node node = n1();
	int64_t alloc_rev;

	up();
	alloc_rev = kit_put(&kit, ALLOC, "alloc");
	T_TRUE(builder_bump(&builder, L("/groups/a/t1"), L("first")));
	T_TRUE(builder_put_alloc(&builder, &node, alloc_rev, L("taken")));
	kit_put(&kit, "/groups/a/t1", "another's");
	T_TRUE(commit());
	T_STR(value_at("/groups/a/t1"), "first");
	T_TRUE(!commit()); /* the alloc is another now */
	T_EQ(found(0).verdict, BUILDER_SAME);
	T_EQ(found(0).record, NULL);
	T_EQ(found(1).verdict, BUILDER_OURS);
	T_EQ(revision_at("/groups/a/t1"), revision_at(ALLOC));
	down();
}

#define WEB "/objects/core/namespaces/web"
#define DB "/objects/core/namespaces/db"
#define LABELS "/objects/core/namespaces"

/* Other objects have no lock. */
T_CASE(writes_of_namespaces_put_the_locks_of_labels_once)
{
	struct builder_node node = n1();
	int64_t web;

	up();
	T_TRUE(builder_put(&builder, pl_span_str("/objects/core/services/web/s"), 0,
	                   L("s")));
	T_TRUE(commit());
	T_EQ(revision_at(LABELS), 0);
	begin();
	T_TRUE(builder_put(&builder, pl_span_str(WEB), 0, L("1")));
	T_TRUE(builder_put(&builder, pl_span_str(DB), 0, L("1")));
	T_TRUE(builder_put_node(&builder, &node, 0, 0, L("node"), L("alloc")));
	T_TRUE(commit());
	web = answer.header.revision;
	T_EQ(revision_at(LABELS), web);
	T_EQ(revision_at("/groups/nodes"), web);
	/* applied, even if others have put the locks since */
	(void)kit_put(&kit, LABELS, "other");
	(void)kit_put(&kit, "/groups/nodes", "other");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	begin();
	T_TRUE(builder_delete(&builder, pl_span_str(WEB), web));
	T_TRUE(commit());
	T_EQ(revision_at(WEB), 0);
	T_EQ(revision_at(LABELS), answer.header.revision);
	T_EQ(revision_at("/groups/nodes"), answer.header.revision);
	down();
}
