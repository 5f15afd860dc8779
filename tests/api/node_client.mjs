// Cases of @kubernetes/client-node: node cases.mjs URL CASE. The last line is "done".
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const [url, name] = process.argv.slice(2);
const config = new k8s.KubeConfig();

// The client refuses http:// otherwise.
config.loadFromOptions({
  clusters: [{name: 'c', server: url, skipTLSVerify: true}],
  users: [{name: 'u'}],
  contexts: [{name: 'c', cluster: 'c', user: 'u'}],
  currentContext: 'c',
});
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const namespace = name.replaceAll('_', '-');

const configMap = (name, data, labels) => ({metadata: {name, labels}, data});
const patchAs = (type) => k8s.setHeaderOptions('Content-Type', type);

function pod(name, spec) {
  return {
    metadata: {name, labels: {app: name}},
    spec: {
      containers: [{name: 'main', image: 'nginx', resources: {requests: {cpu: '100m'}}}],
      ...spec,
    },
  };
}

const node = (name) => ({
  metadata: {name, labels: {case: namespace}},
  status: {
    capacity: {cpu: '8', memory: '16Gi', pods: '110'},
    allocatable: {cpu: '8', memory: '16Gi', pods: '110'},
    conditions: [{type: 'Ready', status: 'True'}],
  },
});

// A list of what has happened, of which the next match is awaited.
class Notes {
  notes = [];
  waiting = [];

  add(note) {
    this.notes.push(note);
    this.waiting.splice(0).forEach((again) => again());
  }

  async until(matches) {
    for (let at = 0; ; ) {
      for (; at < this.notes.length; at++) {
        if (matches(this.notes[at])) return this.notes[at];
      }
      await new Promise((resolve) => this.waiting.push(resolve));
    }
  }
}

const cases = {
  async crud_of_configmaps() {
    const made = await core.createNamespacedConfigMap(
      {namespace, body: configMap('a', {x: '1'})});
    assert.equal(made.metadata.namespace, namespace);
    assert.ok(made.metadata.creationTimestamp instanceof Date);
    made.data.x = '2';
    const replaced = await core.replaceNamespacedConfigMap({namespace, name: 'a', body: made});
    assert.notEqual(replaced.metadata.resourceVersion, made.metadata.resourceVersion);
    const read = await core.readNamespacedConfigMap({namespace, name: 'a'});
    assert.deepEqual(read.data, {x: '2'});
    assert.equal(read.metadata.uid, made.metadata.uid);
    await assert.rejects(core.replaceNamespacedConfigMap({namespace, name: 'a', body: made}),
      (error) => error.code === 409);
    const status = await core.deleteNamespacedConfigMap({namespace, name: 'a'});
    assert.equal(status.status, 'Success');
    assert.deepEqual({...status.details}, {name: 'a', kind: 'configmaps', uid: made.metadata.uid});
    await assert.rejects(core.readNamespacedConfigMap({namespace, name: 'a'}),
      (error) => error.code === 404);
  },

  async lists_in_pages_with_selectors() {
    for (let i = 0; i < 5; i++) {
      await core.createNamespacedConfigMap(
        {namespace, body: configMap(`c${i}`, {}, {parity: i % 2 === 0 ? 'even' : 'odd'})});
    }
    const names = [];
    let next;
    do {
      const page = await core.listNamespacedConfigMap(
        {namespace, limit: 2, _continue: next, labelSelector: 'parity'});
      assert.ok(page.items.length <= 2);
      names.push(...page.items.map((item) => item.metadata.name));
      next = page.metadata._continue;
    } while (next);
    assert.deepEqual(names, ['c0', 'c1', 'c2', 'c3', 'c4']);
    const odd = await core.listNamespacedConfigMap({namespace, labelSelector: 'parity=odd'});
    assert.deepEqual(odd.items.map((item) => item.metadata.name), ['c1', 'c3']);
    const one = await core.listConfigMapForAllNamespaces(
      {fieldSelector: `metadata.name=c2,metadata.namespace=${namespace}`});
    assert.equal(one.items.length, 1);
    await core.deleteCollectionNamespacedConfigMap({namespace, labelSelector: 'parity=odd'});
    const left = await core.listNamespacedConfigMap({namespace, labelSelector: 'parity'});
    assert.deepEqual(left.items.map((item) => item.metadata.name), ['c0', 'c2', 'c4']);
  },

  async patches_of_each_kind() {
    await core.createNamespacedConfigMap({namespace, body: configMap('a', {x: '1', y: '2'})});
    const patch = (body, type) => core.patchNamespacedConfigMap(
      {namespace, name: 'a', body}, patchAs(type));
    let got = await patch([{op: 'replace', path: '/data/x', value: '3'}],
      k8s.PatchStrategy.JsonPatch);
    assert.deepEqual(got.data, {x: '3', y: '2'});
    got = await patch({data: {y: null}}, k8s.PatchStrategy.MergePatch);
    assert.deepEqual(got.data, {x: '3'});
    got = await patch({metadata: {labels: {l: '1'}}}, k8s.PatchStrategy.StrategicMergePatch);
    assert.deepEqual(got.metadata.labels, {l: '1'});
  },

  async server_side_apply() {
    const apply = (data, fieldManager, force) => core.patchNamespacedConfigMap({
      namespace, name: 'a', fieldManager, force,
      body: {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}, data},
    }, patchAs(k8s.PatchStrategy.ServerSideApply));
    const made = await apply({x: '1', y: '2'}, 'one');
    assert.deepEqual(made.metadata.managedFields.map((m) => [m.manager, m.operation]),
      [['one', 'Apply']]);
    const less = await apply({x: '1'}, 'one');
    assert.deepEqual(less.data, {x: '1'});
    await assert.rejects(apply({x: '2'}, 'two'), (error) => {
      assert.equal(error.code, 409);
      assert.match(String(error.body), /conflict with \\?"one\\?"/);
      return true;
    });
    const forced = await apply({x: '2'}, 'two', true);
    assert.deepEqual(forced.data, {x: '2'});
  },

  async errors_are_status_objects() {
    await assert.rejects(core.readNamespacedPod({namespace, name: 'gone'}), (error) => {
      const status = JSON.parse(error.body);
      assert.equal(error.code, 404);
      assert.equal(status.kind, 'Status');
      assert.equal(status.reason, 'NotFound');
      assert.equal(status.message, 'pods "gone" not found');
      assert.deepEqual(status.details, {name: 'gone', kind: 'pods'});
      return true;
    });
    await assert.rejects(core.createNamespacedPod({namespace, body: pod('Bad')}), (error) => {
      assert.equal(error.code, 422);
      assert.equal(JSON.parse(error.body).details.causes[0].field, 'metadata.name');
      return true;
    });
  },

  async a_watch() {
    const notes = new Notes();
    const watch = new k8s.Watch(config);
    const list = await core.listNamespacedConfigMap({namespace});
    const controller = await watch.watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      {resourceVersion: list.metadata.resourceVersion, allowWatchBookmarks: true},
      (type, object) => notes.add({type, object}), () => notes.add({type: 'END'}));
    await core.createNamespacedConfigMap({namespace, body: configMap('a', {x: '1'})});
    const added = await notes.until((note) => note.type === 'ADDED');
    assert.equal(added.object.metadata.name, 'a');
    await core.patchNamespacedConfigMap({namespace, name: 'a', body: {data: {x: '2'}}},
      patchAs(k8s.PatchStrategy.MergePatch));
    const changed = await notes.until((note) => note.type === 'MODIFIED');
    assert.deepEqual(changed.object.data, {x: '2'});
    await core.deleteNamespacedConfigMap({namespace, name: 'a'});
    await notes.until((note) => note.type === 'DELETED');
    controller.abort();
  },

  async an_informer_with_a_restart() {
    const notes = new Notes();
    const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`,
      () => core.listNamespacedConfigMap({namespace}));
    for (const type of ['add', 'update', 'delete']) {
      informer.on(type, (object) => notes.add({type, name: object.metadata.name, object}));
    }
    informer.on('error', (error) => notes.add({type: 'error', error: String(error)}));
    informer.on('connect', () => notes.add({type: 'connect'}));
    await core.createNamespacedConfigMap({namespace, body: configMap('old', {})});
    await informer.start();
    await notes.until((note) => note.type === 'add' && note.name === 'old');
    await core.createNamespacedConfigMap({namespace, body: configMap('new', {x: '1'})});
    await notes.until((note) => note.type === 'add' && note.name === 'new');
    await core.patchNamespacedConfigMap({namespace, name: 'new', body: {data: {x: '2'}}},
      patchAs(k8s.PatchStrategy.MergePatch));
    await notes.until((note) => note.type === 'update' && note.object.data.x === '2');
    await informer.stop();
    // What happens meanwhile is found when it starts again.
    await core.deleteNamespacedConfigMap({namespace, name: 'old'});
    await core.createNamespacedConfigMap({namespace, body: configMap('late', {})});
    await informer.start();
    await notes.until((note) => note.type === 'add' && note.name === 'late');
    await notes.until((note) => note.type === 'delete' && note.name === 'old');
    const list = await core.listNamespacedConfigMap({namespace});
    const versions = (items) => items.map(
      (item) => [item.metadata.name, item.metadata.resourceVersion]).sort();
    assert.deepEqual(versions(informer.list()), versions(list.items));
    // The first stop is an error to the client: the request was aborted by itself.
    assert.deepEqual(notes.notes.filter((note) => note.type === 'error')
      .filter((note) => !note.error.startsWith('AbortError')), []);
    await informer.stop();
  },

  async an_informer_over_a_restart_of_the_server() {
    const notes = new Notes();
    const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`,
      () => core.listNamespacedConfigMap({namespace}));
    for (const type of ['add', 'update', 'delete']) {
      informer.on(type, (object) => notes.add({type, name: object.metadata.name}));
    }
    // As the client's own examples do it.
    informer.on('error', () => setTimeout(() => informer.start().catch(() => {}), 100));
    await core.createNamespacedConfigMap({namespace, body: configMap('old', {})});
    await core.createNamespacedConfigMap({namespace, body: configMap('stays', {})});
    await informer.start();
    await notes.until((note) => note.type === 'add' && note.name === 'old');
    console.log('ready');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    await core.createNamespacedConfigMap({namespace, body: configMap('new', {})});
    await core.deleteNamespacedConfigMap({namespace, name: 'old'});
    await notes.until((note) => note.type === 'add' && note.name === 'new');
    await notes.until((note) => note.type === 'delete' && note.name === 'old');
    assert.deepEqual(informer.list().map((item) => item.metadata.name).sort(),
      ['kube-root-ca.crt', 'new', 'stays']);
    assert.equal(notes.notes.filter(
      (note) => note.type === 'delete' && note.name === 'stays').length, 0);
  },

  async a_binding() {
    await core.createNode({body: node('binding-1')});
    await core.createNamespacedPod({namespace, body: pod('p', {schedulerName: 'mine'})});
    const bind = (name) => core.createNamespacedPodBinding({
      namespace, name, body: {
        metadata: {name}, target: {apiVersion: 'v1', kind: 'Node', name: 'binding-1'}}})
      // The answer is a Status, where the client expects a Binding.
      .catch((error) => { if (error.code !== undefined) throw error; });
    await bind('p');
    const bound = await core.readNamespacedPod({namespace, name: 'p'});
    assert.equal(bound.spec.nodeName, 'binding-1');
    assert.equal(bound.status.conditions.find((c) => c.type === 'PodScheduled').status, 'True');
    await assert.rejects(bind('p'), (error) => error.code === 409);
    await assert.rejects(bind('gone'), (error) => error.code === 404);
  },

  async an_eviction() {
    await core.createNode({body: node('eviction-1')});
    await core.createNamespacedPod(
      {namespace, body: pod('p', {nodeSelector: {case: namespace}})});
    const notes = new Notes();
    const watch = new k8s.Watch(config);
    const controller = await watch.watch(`/api/v1/namespaces/${namespace}/pods`, {},
      (type, object) => notes.add({type, object}), () => {});
    await notes.until((note) => note.object.spec?.nodeName === 'eviction-1');
    await core.createNamespacedPodEviction({namespace, name: 'p', body: {metadata: {name: 'p'}}});
    await notes.until((note) => note.type === 'DELETED' ||
      note.object.metadata.deletionTimestamp !== undefined);
    controller.abort();
  },

  async dynamic_objects() {
    const objects = k8s.KubernetesObjectApi.makeApiClient(config);
    const made = await objects.create({
      apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd', namespace},
      spec: {
        selector: {matchLabels: {app: 'd'}},
        template: {
          metadata: {labels: {app: 'd'}},
          spec: {containers: [{name: 'main', image: 'nginx'}]},
        },
      },
    });
    assert.equal(made.spec.replicas, 1);
    const read = await objects.read(
      {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd', namespace}});
    assert.equal(read.metadata.uid, made.metadata.uid);
    await objects.delete(
      {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'd', namespace}});
  },

  async types_of_many_groups() {
    const versions = await config.makeApiClient(k8s.ApisApi).getAPIVersions();
    assert.ok(versions.groups.some((group) => group.name === 'apps'));
    const leases = config.makeApiClient(k8s.CoordinationV1Api);
    const lease = await leases.createNamespacedLease({
      namespace, body: {
        metadata: {name: 'l'},
        spec: {holderIdentity: 'me', leaseDurationSeconds: 15, renewTime: new k8s.V1MicroTime()},
      }});
    assert.equal(lease.spec.holderIdentity, 'me');
    lease.spec.holderIdentity = 'you';
    const changed = await leases.replaceNamespacedLease({namespace, name: 'l', body: lease});
    assert.equal(changed.spec.holderIdentity, 'you');
    const policy = config.makeApiClient(k8s.PolicyV1Api);
    await policy.createNamespacedPodDisruptionBudget({
      namespace, body: {
        metadata: {name: 'b'},
        spec: {maxUnavailable: 1, selector: {matchLabels: {app: 'x'}}},
      }});
    const budgets = await policy.listNamespacedPodDisruptionBudget({namespace});
    assert.equal(budgets.items[0].spec.maxUnavailable, 1);
    await apps.listDeploymentForAllNamespaces();
    await config.makeApiClient(k8s.VersionApi).getCode();
  },
};

await core.createNamespace({body: {metadata: {name: namespace}}});
await cases[name]();
console.log('done');
process.exit(0);
