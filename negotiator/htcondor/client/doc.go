// Package client asks and tells HTCondor's daemons what a negotiator has to:
// the collector for ads ([Collector]), schedds for their queues ([Schedd.Jobs])
// and about matches ([Schedd.Negotiate]), condor_master that we are alive
// ([Master]), and one of our own negotiators for start times ([Negotiator]).
//
// Ads come as lines ([cedar.Lines]), one at a time, as they arrive: whoever reads
// ten thousand of them decides what is worth parsing.
//
// Source: HTCondor 23.9, the commands of condor_commands.h.
package client
