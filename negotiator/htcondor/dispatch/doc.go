// Package dispatch is the network of package claims: a [Dispatcher] carries what a [claims.State]
// gives it to the daemons, and returns to it what came of that.
//
// To hand a match over, it asks the collector what the match's slots offer, and gives the claim ids
// that the state grants to the jobs' schedds, with the slots' ads. No cycle waits for a schedd that
// is slow: it is told in the background.
//
// Files, in the order of handing over: dispatch.go the [Dispatcher]; release.go which claims of
// gangs have ended; offers.go what slots have to give; negotiate.go telling the schedds, vacate.go which
// scavengers have to leave, recount.go which schedds are to ask for gangs' slots; startds.go
// what became of claims; explain.go reasons for users; rouse.go machines that sleep and are wanted; notes.go lines about matches and reasons.
package dispatch
