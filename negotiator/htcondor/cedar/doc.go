// Package cedar speaks CEDAR, the message format of HTCondor's daemons: frames on a TCP connection,
// values without type tags, ads, and AES-GCM once both sides share a key.
//
// [ParseAddress] reads the addresses in ads ("<host:port?sock=…>"); a [Dialer] connects to one,
// through a shared port or a broker if need be. A [Stream] is the connection: Put… and Send write a
// message; the methods named after types, and End, read one. Every length that is read is bounded,
// and values are decoded as they arrive, so a reply of many megabytes needs the memory of one ad.
//
// Source: the sources of HTCondor 23.9 (condor_io), and conversations recorded with its daemons.
// The package does not know commands or who may send them: that is package security.
//
// Files: address.go and dial.go, broker.go for daemons that connect to us; stream.go frames;
// seal.go encryption; write.go and read.go values; ad.go ads, short.go ads that strangers write;
// hungup_linux.go and hungup_other.go whether the other side is still there.
package cedar
