// Package plugins is the boundary behind which a scheduling policy runs as a
// process of its own. It holds no code itself:
//
//   - policyv1 is the protocol, for any language;
//   - sdk makes a plugin of a policy that is written in Go;
//   - host finds plugins, starts them, and lets them decide;
//   - check tries a plugin and says whether a pool may be given into its hands;
//   - serve makes an executable its own plugin;
//   - choose turns what a user calls a policy into one, linked in or not;
//   - examples are policies in other languages;
//   - backfill-NAME are the policies of this project as plugins.
package plugins
