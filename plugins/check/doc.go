// Package check tries a policy plugin, whoever wrote it in whatever language, and
// says whether a pool may be given into its hands: [Run] goes through numbered
// checks and makes a [Report].
//
// check.go runs the checks and says what they come to; probe.go talks to a plugin as
// a host does that then vanishes; describe.go, conform.go, compare.go (is it
// deterministic, does it remember, do branches disturb it), process.go and latency.go
// are the checks; journal.go is decisions as text, tail.go the end of the plugin's log.
package check
