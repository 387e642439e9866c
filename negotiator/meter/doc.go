// Package meter counts for Prometheus what a negotiator does and what its pool needs, on a real
// pool or a simulated one: how long the phases of cycles and the policy's decisions take, how long
// jobs waited and how wrong the starts were that they were told, as histograms; who runs and waits,
// by accounting group; and what whoever provisions slots asks for, see package shapes.
//
// A [Meter] is a [prometheus.Collector]. It is told of each cycle ([Meter.Cycle], or through a
// [Sink]), and of each start that came and had been foretold ([Meter.StartError]). What the state
// of the pool says is read from a copy of it when somebody collects, at most once for each cycle,
// beside the cycles.
//
// Labels come from users, who may make up any number of them, so a Meter tells only so many
// accounting groups and policies apart.
//
// Files, from the top down; each calls only those below it:
//
//	sink.go     a sink of cycles, for pools in this process
//	meter.go    the Meter, and what it is told
//	collect.go  what it tells when it is asked
//	pool.go     what the state of the pool says, by group
//	names.go    the metrics, and bounded sets of labels
package meter
