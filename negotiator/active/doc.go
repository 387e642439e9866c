// Package active starts the policies, orders and estimators that the settings name, and replaces the
// active ones at a reload while jobs run.
//
//   - active.go: an [Activator] starts a [Policy], linked in, as a plugin or as a chooser;
//   - estimators.go: the run times with which it plans, and what they learn from at the start;
//   - reload.go: what a signal changes: the next policy is started beside the cycles, and takes over
//     between two of them;
//   - about.go: the active policy in words;
//   - recording.go: the record that is written of the cycles.
//
// Beside the commands and package catalogue it alone knows plugins.
package active
