// Package plugins is the boundary behind which a scheduling policy runs as a process of its own.
// The package itself has no code:
//
//   - policyv1 is the protocol, for any language;
//   - sdk makes a plugin from a policy written in Go;
//   - host finds plugins, starts them, and asks them for decisions;
//   - check tests a plugin and decides whether a pool can be entrusted to it;
//   - serve lets an executable run as a plugin for a policy that is linked into it;
//   - choose turns a user's choice of policy into a policy, linked in or not;
//   - examples are policies in other languages;
//   - backfill-NAME are the policies of this project as plugins.
package plugins
