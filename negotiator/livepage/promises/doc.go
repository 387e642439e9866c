// Package promises remembers what jobs were told of their starts, and compares it with what came.
//
//   - ledger.go: a [Ledger] sees one picture of a pool after the other;
//   - delays.go: who is in the place and at the time that somebody was told before;
//   - report.go: how true it all was: errors by lead time, calibration, guarantees, who was delayed by whom.
package promises
