// Package security opens and accepts streams between HTCondor's daemons as their configuration
// demands: who the other side is (authentication), whether it may give a command (authorization),
// and with which key the stream is encrypted.
//
// A [Client] starts commands on a session whose key it has already, or else by the handshake of
// DC_AUTHENTICATE. In the handshake both sides agree on features ([Level]) and on a [Method]: a
// token signed by the pool's administrator (IDTOKENS), a directory on the same machine (FS), the
// other side's word (CLAIMTOBE), or none. Sessions are resumed until they expire. A [Server] is the
// accepting side.
//
// A [Key] is a session that somebody else created for us: the capability in a submitter's ad, what
// condor_master gives to the daemons that it starts, a claim. Nothing here ever prints a secret; a
// Key prints as its public part.
//
// Source: the sources of HTCondor 23.9 (condor_io, condor_daemon_core) and conversations recorded
// with its daemons.
//
// Files: client.go, handshake.go (as the client), demands.go and session.go; server.go, answer.go
// (the handshake as the server), resume.go and issued.go (its sessions); authorize.go and
// permission.go (who may do what); policy.go, method.go and account.go (who somebody is), and fs.go,
// token.go, signing.go and revoked.go for the methods, bearer.go for tokens over HTTP; key.go, random.go.
package security
