// Package instant reads and writes instants as people do: one notion of time for everything that is
// asked of a simulation or a pool.
//
//   - clock.go: a [Clock] says what instants there are, and writes them;
//   - read.go: reads them, as seconds of the trace, Unix times or dates.
package instant
