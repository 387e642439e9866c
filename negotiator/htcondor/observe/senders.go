package observe

import (
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// sender is who sent an ad to the collector. The collector writes it into the ad
// (AuthenticatedIdentity), in the place of what the ad says of that; "" if whoever sent it did not
// log in.
type sender string

const identityAttribute = "AuthenticatedIdentity"

func senderOf(ad *classad.ClassAd) sender {
	text, _ := ad.Literal(identityAttribute).Text()
	return sender(text)
}

// String names the sender for people.
func (s sender) String() string {
	if s.trust() == 0 {
		return "sent without a login"
	}
	return "sent by " + string(s)
}

// trust ranks senders: 3 for daemons of the collector's own condor_master, which nobody else can
// be; 2 for those of the pool, which HTCondor calls condor or condor_pool whatever their domain; 1
// for others who have logged in; 0 for anybody.
func (s sender) trust() int {
	user, domain, _ := strings.Cut(strings.ToLower(string(s)), "@")
	switch {
	case user == "condor" && domain == "family":
		return 3
	case user == "condor" || user == "condor_pool":
		return 2
	case user == "" || user == "unauthenticated" || user == "anonymous" || user == "condor_anonymous_user", domain == "unmapped":
		return 0
	}
	return 1
}

// outranks tells whether a sender takes a name from one that has it: a daemon of the pool from
// whoever did not log in. Where daemons have identities of their own, another's says nothing.
func (s sender) outranks(other sender) bool { return s.trust() >= 2 && other.trust() == 0 }

// isWeaker tells whether an ad of this sender need not be of the daemon whose ads were another's.
func (s sender) isWeaker(than sender) bool {
	return s.trust() < than.trust() || s.trust() == 1 && than.trust() == 1 && s != than
}

// own returns the user who sent the ad of a submitter himself, without his domain; "" if nobody did.
// The collector takes such an ad of everybody who has logged in (UPDATE_OWN_SUBMITTOR_AD), if what
// is between the name's last dot and its first @ is his name.
func (s sender) own(submitter string) string {
	user, _, _ := strings.Cut(string(s), "@")
	name, _, _ := strings.Cut(submitter, "@")
	if s.trust() != 1 || user != name[strings.LastIndex(name, ".")+1:] {
		return ""
	}
	return user
}

// keeper is who has a name: the sender of its ads, and when a look last saw one.
type keeper struct {
	sender sender
	seen   time.Time
}

// forgetKeepers forgets who has names if another collector answers: senders are what a collector
// calls them.
func (o *Observer) forgetKeepers() {
	if at := o.s.Collector.Answered(); at != o.told {
		o.told = at
		o.discardSlots()
		for _, t := range o.read {
			t.keeper = keeper{}
		}
		for _, s := range o.schedds {
			s.keeper = keeper{}
		}
	}
}

// yieldsTo tells whether whoever has the name loses it to a sender, though both are there.
func (k keeper) yieldsTo(s sender) bool { return !k.seen.IsZero() && s.outranks(k.sender) }

// refuses tells whether an ad of the name is another's, whatever its address, as its sender is
// weaker. A keeper counts for as long as a collector may have its last ad.
func (k keeper) refuses(s sender, now time.Time) bool {
	return s.isWeaker(k.sender) && now.Sub(k.seen) < alive
}
