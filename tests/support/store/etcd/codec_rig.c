#include "tests/support/store/etcd/codec_rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/harness/t.h"

void codec_rig_recorded(struct codec_rig *rig, const char *file, size_t skip)
{
	const char *root = getenv("T_ROOT");
	char path[512];
	uint8_t data[4096];
	size_t len;
	FILE *in;

	T_TRUE(root != NULL);
	(void)snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s", root, file);
	in = fopen(path, "rb");
	if (in == NULL)
		t_fail(__FILE__, __LINE__, "can not open %s", path);
	len = fread(data, 1, sizeof data, in);
	(void)fclose(in);
	T_TRUE(len > skip && len < sizeof data);
	rig->bytes.len = 0;
	T_EQ(pl_buf_add(&rig->bytes, pl_span(data + skip, len - skip)), PL_OK);
}
