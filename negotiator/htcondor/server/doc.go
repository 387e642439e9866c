// Package server is a daemon's command port: it listens, authenticates each command's sender
// (package security) and passes the command to a [Handler].
//
// [Port] serves any commands; [Negotiator] has those of HTCondor's negotiator: RESCHEDULE,
// everything that condor_userprio sends, queries for the Negotiator ad and Accounting ads, reconfig
// and off, and, as our extension, queries for planned start times and what-ifs, and drains of slots.
//
//	port := &server.Port{Security: guard, Handlers: negotiator.Handlers()}
//	listener, err := net.Listen("tcp", "10.0.0.1:0")
//	address := server.AddressOf(listener) // for the Negotiator ad
//	err = port.Serve(ctx, listener)       // until the context ends
//
// Source: HTCondor 23.9 (condor_negotiator.V6, condor_tools/user_prio.cpp), tried with its tools.
package server
