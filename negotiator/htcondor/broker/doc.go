// Package broker calls daemons that are behind brokers (CCB): they cannot be connected to, so they
// connect to us.
//
// Such a daemon keeps a connection to a broker, usually a collector, and advertises its number
// there (CCBID; [cedar.Address]). [Callbacks] asks the broker for a connection:
//
//	us      → broker   CCB_REQUEST (68), as any command, by a handshake:
//	                   CCBID = "7", MyAddress = our command port, ClaimId = a secret, Name = who we are
//	broker  → daemon   Command = 68, the same MyAddress, ClaimId and Name, RequestID = "12"
//	daemon  → us       CCB_REVERSE_CONNECT (69), raw, at our command port: ClaimId, RequestID, MyAddress
//	daemon  → broker   what it was told, with Result, and ErrorString if it could not connect
//	broker  → us       Result and ErrorString
//
// From here on the daemon takes the connection for one that we made: our handshake begins, for the
// command that the connection is for. If the daemon is behind a shared port, that is what connected,
// and is asked first to pass the connection on. The broker's answer may come before or after the
// connection; only a failure counts.
//
//	callbacks := &broker.Callbacks{Address: address.String(), Name: "NEGOTIATOR"}
//	port.Handlers[broker.ReverseConnect] = callbacks.Handler()
//	client.Reverse = callbacks.Reverse
//
// Source: HTCondor 23.9 to 25.14 (ccb/ccb_client.cpp, ccb_server.cpp, ccb_listener.cpp;
// condor_io/sock.cpp), tried with 23.9.
package broker
