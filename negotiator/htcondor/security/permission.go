package security

import "slices"

// Permission is an authorization level, in the words of the ALLOW_ settings.
type Permission string

// The permissions that commands here need.
const (
	Read            Permission = "READ"
	Write           Permission = "WRITE"
	Negotiator      Permission = "NEGOTIATOR"
	Administrator   Permission = "ADMINISTRATOR"
	Daemon          Permission = "DAEMON"
	AdvertiseStartd Permission = "ADVERTISE_STARTD"
	AdvertiseSchedd Permission = "ADVERTISE_SCHEDD"
)

// implied are the permissions that come with others.
var implied = map[Permission][]Permission{
	Write:           {Read},
	Negotiator:      {Read},
	Administrator:   {Write, Read},
	Daemon:          {Write, Read, AdvertiseStartd, AdvertiseSchedd},
	AdvertiseStartd: {Read},
	AdvertiseSchedd: {Read},
}

// Implies tells whether who has the permission has the other one as well.
func (p Permission) Implies(other Permission) bool {
	return p == other || slices.Contains(implied[p], other)
}

// Peer is who gives a command.
type Peer struct {
	// User is the identity, such as condor@pool.test.
	User string
	// Address is the IP address from which the command came.
	Address string
	// Method is how User was shown; "": not at all, or by Family.
	Method Method
	// Family says that the peer was started by the same condor_master.
	Family bool
	// Limits are the only permissions that the peer's token is good for; none: any.
	Limits []Permission
	// Version is what the peer says that it is, "$CondorVersion: 23.9.6 …".
	Version string
}

// Unauthenticated is the user of peers that did not show who they are.
const Unauthenticated = "unauthenticated@unmapped"

// within tells whether a peer's own limits leave a permission.
func (p Peer) within(need Permission) bool {
	return len(p.Limits) == 0 || slices.ContainsFunc(p.Limits, func(l Permission) bool { return l.Implies(need) })
}
