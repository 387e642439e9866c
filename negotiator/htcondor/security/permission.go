package security

import "slices"

// Permission is an authorization level, named as in the ALLOW_ settings.
type Permission string

// The permissions that the commands of this project need.
const (
	Read            Permission = "READ"
	Write           Permission = "WRITE"
	Negotiator      Permission = "NEGOTIATOR"
	Administrator   Permission = "ADMINISTRATOR"
	Daemon          Permission = "DAEMON"
	AdvertiseStartd Permission = "ADVERTISE_STARTD"
	AdvertiseSchedd Permission = "ADVERTISE_SCHEDD"
	// Anybody is for commands that anybody may give, without a handshake: what is said with them has to
	// be a secret that we gave away.
	Anybody Permission = "ALLOW"
)

// implied lists the permissions that each permission includes.
var implied = map[Permission][]Permission{
	Write:           {Read},
	Negotiator:      {Read},
	Administrator:   {Write, Read},
	Daemon:          {Write, Read, AdvertiseStartd, AdvertiseSchedd},
	AdvertiseStartd: {Read},
	AdvertiseSchedd: {Read},
}

// Implies reports whether the permission includes the other one.
func (p Permission) Implies(other Permission) bool {
	return p == other || slices.Contains(implied[p], other)
}

// Peer is the side that gives a command.
type Peer struct {
	// User is the identity, such as condor@pool.test.
	User string
	// Address is the IP address from which the command came.
	Address string
	// Method is how User was authenticated; empty if not at all or by Family.
	Method Method
	// Family says that the peer was started by the same condor_master.
	Family bool
	// Limits are the only permissions that the peer's token grants; empty means no limit.
	Limits []Permission
	// Version is the version that the peer announces, "$CondorVersion: 23.9.6 …".
	Version string
}

// Unauthenticated is the user of peers that did not authenticate.
const Unauthenticated = "unauthenticated@unmapped"

// within reports whether the limits of the peer's token include a permission.
func (p Peer) within(need Permission) bool {
	return len(p.Limits) == 0 || slices.ContainsFunc(p.Limits, func(l Permission) bool { return l.Implies(need) })
}
