// Makes a policy plugin from a function.
//
// serve({name, doc, decide, …}) is all that a policy needs. The rest of this file
// implements the section "In another language" of plugins/README.md: the handshake,
// the services of go-plugin, and the session.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const { State, Cycle } = require('./state.js');

const COOKIE = ['CONDOR_BACKFILL_POLICY', '9e7c1f0a-policyv1'];
const MAX_MESSAGE = 256 << 20; // bytes; a state with 100,000 jobs takes about 10 MB

const { policyv1 } = grpc.loadPackageDefinition(loader.loadSync(path.join(__dirname, 'policy.proto'), {
  keepCase: true, longs: String, enums: String, defaults: true, oneofs: true,
}));

// Session is the conversation with the host: the policy and its copies of the
// state. If anything goes wrong with a copy it is dropped, and the host sends the
// state again.
class Session {
  constructor(policy) {
    this.policy = policy;
    this.branches = new Map();
    this.failed = false; // where it did has been logged
  }

  // Returns the answer to a message of the host; undefined if it needs none.
  answer(m) {
    switch (m.message) {
      case 'configure': return this.configure(m.configure);
      case 'sync': return this.sync(m.sync);
      case 'fork': return this.fork(m.fork);
      case 'drop': this.branches.delete(m.drop.branch); return undefined;
      case 'decide': return this.decide(m.decide);
      default: return undefined;
    }
  }

  configure({ options }) {
    const known = this.policy.options ?? [];
    const unknown = Object.keys(options).find((name) => !known.some((o) => o.name === name));
    if (unknown !== undefined) return { failure: { text: `policy ${this.policy.name} has no option ${unknown}` } };
    this.options = { ...Object.fromEntries(known.map((o) => [o.name, o.default_value])), ...options };
    return { ready: {} };
  }

  sync({ branch, snapshot }) {
    this.branches.delete(branch);
    try {
      this.branches.set(branch, new State(snapshot));
    } catch (error) {
      log('error', `the host's state does not make sense: ${error.stack}`);
    }
  }

  fork({ from, to }) {
    this.branches.delete(to);
    if (this.branches.has(from)) this.branches.set(to, this.branches.get(from).fork());
  }

  decide({ branch, base_revision, settled, round }) {
    const state = this.branches.get(branch);
    this.branches.delete(branch); // it is back if all goes well
    try {
      for (const s of state ? settled : []) state.replay(s.round, s.journal);
      if (state?.revision !== BigInt(base_revision)) {
        throw new Error(`the copy is at revision ${state?.revision ?? 0}, the round at ${base_revision}`);
      }
    } catch (error) {
      return { out_of_step: { branch, have_revision: String(state?.revision ?? 0), text: error.message } };
    }
    try {
      const cycle = new Cycle(state, round);
      const outcome = this.policy.decide(cycle, this.options);
      if (typeof (outcome?.then ?? outcome?.next) === 'function') {
        outcome.catch?.(() => {}); // that it fails later is of no interest
        throw new TypeError('decide must be a plain function, without async and yield: it has decided nothing yet');
      }
      state.revision++;
      this.branches.set(branch, state);
      return { decision: { branch, base_revision, journal: cycle.journal } };
    } catch (error) {
      if (!this.failed) log('error', 'policy failed', { stack: error.stack }); // the host tells of all failures
      this.failed = true;
      return { failure: { branch, text: error.message } };
    }
  }
}

// Serves the policy {name, doc, promise, source, order, options, decide} until the
// host has finished or died. All but decide are those of the protocol's
// DescribeResponse; order is that of the queue unless the user chooses one. decide(cycle,
// options) acts on a cycle whose events have all been applied, and is no async
// function; it must keep nothing between cycles that affects a decision.
function serve(policy) {
  if (process.env[COOKIE[0]] !== COOKIE[1]) {
    console.error('This is a policy plugin: start it with negotiator --policy or condorsim run --policy.');
    process.exit(1);
  }
  const features = ['FEATURE_RUNNING', 'FEATURE_BUNDLES', 'FEATURE_RELEASE'];
  const { decide, ...description } = { ...policy, features };
  const exit = () => process.exit(0);
  const server = new grpc.Server({
    'grpc.max_receive_message_length': MAX_MESSAGE, 'grpc.max_send_message_length': MAX_MESSAGE,
  });
  server.addService(policyv1.PolicyService.service, {
    Describe: (_, done) => done(null, description),
    Session: (call) => {
      const session = new Session(policy);
      call.on('data', (m) => {
        const answer = session.answer(m);
        if (answer) call.write(answer);
      });
      for (const over of ['end', 'cancelled', 'error']) call.on(over, exit);
    },
  });
  // Services that go-plugin needs. Their messages are empty, except the one with
  // SERVING.
  const empty = Buffer.alloc(0);
  server.addService(raw('plugin.GRPCController', 'Shutdown'), {
    Shutdown: (_, done) => { done(null, empty); setTimeout(exit, 50); },
  });
  server.addService(raw('plugin.GRPCStdio', 'StreamStdio', true), {
    StreamStdio: (call) => call.on('cancelled', exit),
  });
  server.addService(raw('grpc.health.v1.Health', 'Check'), { Check: (_, done) => done(null, Buffer.from([8, 1])) });

  endWithHost();
  const folder = process.env.PLUGIN_UNIX_SOCKET_DIR || fs.mkdtempSync(path.join(os.tmpdir(), 'backfill-'));
  const socket = path.join(folder, 'policy.sock');
  const { credentials, certificate } = security();
  server.bindAsync(`unix:${socket}`, credentials, (error) => {
    if (error) throw error;
    process.stdout.write(`1|1|unix|${socket}|grpc|${certificate}\n`);
    console.log = console.error; // what is printed from here on goes to the host's log
  });
}

// A service of one rpc whose messages are bytes.
function raw(service, name, responseStream = false) {
  const same = (bytes) => bytes;
  return {
    [name]: {
      path: `/${service}/${name}`, requestStream: false, responseStream,
      requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same,
    },
  };
}

// Ends the process after the host was killed, even while the policy is busy and no event is handled.
function endWithHost() {
  new Worker(`
    const host = process.ppid;
    setInterval(() => { if (process.ppid !== host) process.kill(process.pid, 'SIGKILL'); }, 1000);
  `, { eval: true }).unref();
}

// AutoMTLS: the host gives its certificate and gets ours in the handshake.
function security() {
  const host = process.env.PLUGIN_CLIENT_CERT;
  if (!host) return { credentials: grpc.ServerCredentials.createInsecure(), certificate: '' };
  const pem = execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '3650',
    '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', '-', '-out', '-',
  ], { stdio: ['ignore', 'pipe', 'ignore'] });
  const base64 = /-----BEGIN CERTIFICATE-----([^-]+)/.exec(pem.toString())[1].replace(/[\s=]/g, '');
  const pair = { private_key: pem, cert_chain: pem };
  const credentials = grpc.ServerCredentials.createSsl(Buffer.from(host), [pair], true);
  return { credentials, certificate: base64 };
}

// Writes an entry to the host's log as hclog does; other standard error is logged
// as text.
function log(level, text, more = {}) {
  process.stderr.write(`${JSON.stringify({ '@level': level, '@message': text, ...more })}\n`);
}

module.exports = { serve, log };
