#!/usr/bin/env python3
"""@kubernetes/client-node against the rig: node_client.mjs has the cases."""
import os
import shutil
import subprocess

from kubectl import clients_folder
from rig import Rig, die_with_parent
from tap import ROOT, SLOW, Skip, case, equal, fail, main

CASES = ROOT / "tests" / "api" / "node_client.mjs"
NODE_MAJOR_LEAST = 20


class NodeClientFixture(Rig):
    def __init__(self):
        self.modules = clients_folder() / "node" / "node_modules"
        program = shutil.which("node")
        if program is None:
            raise Skip("node is not installed")
        version = subprocess.run([program, "--version"], capture_output=True, text=True,
                                 check=True).stdout.strip()
        if int(version[1:].split(".")[0]) < NODE_MAJOR_LEAST:
            raise Skip(f"node {version} is too old for @kubernetes/client-node 1.4.0")
        if not (self.modules / "@kubernetes" / "client-node").is_dir():
            raise Skip("@kubernetes/client-node is not there: tests/clients/install")
        self.program = program
        super().__init__()

    def up(self):
        super().up()
        # Modules are found from where the program stands.
        (self.dir / "node_modules").symlink_to(self.modules)
        shutil.copy(CASES, self.dir / "cases.mjs")

    def enter(self, _name):
        return self

    def run_case(self, name):
        done = subprocess.run(
            [self.program, str(self.dir / "cases.mjs"), f"http://127.0.0.1:{self.port}", name],
            text=True, capture_output=True, check=False, preexec_fn=die_with_parent,
            timeout=30 * SLOW, env={**os.environ, "NODE_NO_WARNINGS": "1"})
        if done.returncode != 0:
            fail(f"{name}:\n{done.stdout}{done.stderr}")
        equal(done.stdout.splitlines()[-1:], ["done"])


def add(name, **more):
    def run(rig):
        rig.run_case(name)

    run.__name__ = name
    case(seconds=30, **more)(run)


add("crud_of_configmaps")
add("lists_in_pages_with_selectors")
add("patches_of_each_kind")
add("server_side_apply")
add("errors_are_status_objects")
add("a_watch")
add("an_informer_with_a_restart")
add("a_binding")
add("an_eviction")
add("dynamic_objects")
add("types_of_many_groups")

main(NodeClientFixture)
