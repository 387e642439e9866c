// Package client has the commands that a negotiator sends to HTCondor's daemons: queries and
// updates for the collector ([Collector]), queries of schedds' queues ([Schedd.Jobs]), users
// ([Schedd.Users]) and number of submits ([Schedd.Submitted]), negotiation with schedds
// ([Schedd.Negotiate]), having them vacate jobs ([Schedd.Vacate])
// and count their queues ([Schedd.Reschedule]), signs of life for condor_master ([Master]), and queries for start times to one
// of our own negotiators ([Negotiator]).
//
// Ads are handed over as lines ([cedar.Lines]), one at a time as they arrive, because a caller that
// reads ten thousand of them decides itself what is worth parsing.
//
// Source: HTCondor 23.9, the commands of condor_commands.h.
package client
