// Package cedar speaks CEDAR, the message format of HTCondor's daemons: frames
// on a TCP connection, values without type tags, ads, and AES-GCM once both
// sides share a key.
//
// [ParseAddress] reads the addresses in ads ("<host:port?sock=…>"); a
// [Dialer] connects to one, through a shared port if need be. A [Stream] is the
// connection: Put… and Send write a message, the functions named after types
// and End read one. What comes in is bounded in every respect and decoded as it
// arrives, so that a reply of many megabytes takes the memory of one ad.
//
// Source: the sources of HTCondor 23.9 (condor_io), and conversations recorded
// with its daemons. The package knows nothing of commands or who may give them:
// that is package security.
//
// Files: address.go and dial.go; stream.go frames; seal.go encryption; write.go
// and read.go values; ad.go ads.
package cedar
