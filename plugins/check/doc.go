// Package check tests a policy plugin, whoever wrote it in whatever language, and decides whether a
// pool can be entrusted to it: [Run] runs numbered checks and returns a [Report].
//
// check.go runs the checks and records their results; probe.go talks to a plugin as a host that
// then vanishes; describe.go, conform.go, compare.go (determinism, memory, branches), process.go
// and latency.go are the checks; journal.go records and counts decisions, tail.go keeps the end of the
// plugin's log.
package check
