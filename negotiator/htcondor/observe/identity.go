package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// An ad says whose it is, and whoever may advertise may say so in another's name. So a name belongs
// to the daemon at the address where it was first: the incumbent. A newcomer gets it when the
// incumbent does not answer or is not advertised any more, unless the collector knows it less, see
// [sender]. Of several newcomers at once the best known has the name; of equals, the schedd that
// knows the jobs which run on slots; or else the address that sorts first, and the log asks for a
// decision.

// outdated is how much older than a newcomer's an incumbent's ad may be, by the collector's clock,
// in seconds. Daemons renew theirs every five minutes, and a collector keeps those of dead ones for
// a quarter of an hour.
const outdated = 10 * 60

// endpoint returns the part of an address, as ads have it, that says where a daemon is called: its
// brokers are part of that, as many hosts behind them have the same private address. Its other
// parameters may change while the daemon runs.
func endpoint(address string) string {
	a, err := cedar.ParseAddress(address)
	if err != nil {
		return address
	}
	return cedar.Address{
		Host: a.Host, Port: a.Port, Sock: a.Sock, Brokers: a.Brokers, Network: a.Network, Inside: a.Inside,
	}.String()
}

// sameDaemon tells whether two addresses, as ads have them, are of one daemon.
func sameDaemon(a, b string) bool { return a == b || endpoint(a) == endpoint(b) }

// A conflict is told with texts of strangers, each up to longestTold letters long. Of all conflicts
// the first mostTold are told, and how many others there are.
const (
	longestTold = 120
	mostTold    = 5
)

// conflict notes that an ad is left out since another daemon has its name, or its address.
func (l *look) conflict(format string, texts ...string) {
	shown := make([]any, len(texts))
	for i, text := range texts {
		shown[i] = backfill.Printable(text, longestTold)
	}
	l.conflicts[fmt.Sprintf(format, shown...)] = true
}

// decide is how an administrator decides who has a name.
const decide = "; remove the wrong ad (condor_advertise INVALIDATE_%s_ADS), and let only the pool's daemons advertise " +
	"(ALLOW_ADVERTISE_%[1]s)"

// howToDecide returns decide for schedds or slots.
func howToDecide(daemons string) string { return fmt.Sprintf(decide, daemons) }

// tellConflicts counts the conflicts and puts them among the problems.
func (l *look) tellConflicts() {
	l.Contested = len(l.conflicts)
	all := make([]string, 0, len(l.conflicts))
	for text := range l.conflicts {
		all = append(all, text)
	}
	slices.Sort(all)
	l.Problems = append(l.Problems, all[:min(len(all), mostTold)]...)
	if more := len(all) - mostTold; more > 0 {
		l.problem("%d more ads are left out, since other daemons have their names", more)
	}
}

// slotClaim is a slot's ad whose name another daemon's slot has.
type slotClaim struct {
	lines         cedar.Lines
	name, address string
	heard         int64
	sender        sender
}

// mostClaims bounds the ads that are kept until all have come, in each look. It is more of slots if
// there are more: they may all have restarted.
const mostClaims = 10_000

// claimSlot keeps a slot's ad until it is known whether the slot that has its name is still there.
func (o *Observer) claimSlot(l *look, c slotClaim) {
	if len(l.slotClaims) < max(mostClaims, 2*len(o.slots)) {
		c.lines = slices.Clone(c.lines)
		l.slotClaims = append(l.slotClaims, c)
	}
}

// settleSlots decides who has the names of slots for which there is more than one ad.
func (o *Observer) settleSlots(l *look) {
	claims := l.slotClaims
	l.slotClaims = nil
	slices.SortStableFunc(claims, func(a, b slotClaim) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.address, b.address))
	})
	for _, c := range claims {
		t := o.read[c.name]
		if t == nil {
			o.settlePart(l, c)
			continue
		}
		seen, newer := t.look == l.Number, c.heard-o.slots[c.name].heard > outdated
		bothNew := t.first == l.Number && o.precedes(c, t)
		switch refused := t.keeper.refuses(c.sender, l.Began); {
		case refused && sameDaemon(c.address, t.address):
			l.conflict("slot %s is advertised at its own address, %s, in an ad %s, and not %s: the ad is left out"+
				howToDecide("STARTD"), c.name, c.address, c.sender.String(), t.keeper.sender.String())
			o.keepSlot(l, c.name)
		case !seen && !refused:
			o.moveSlot(l, t, c)
		case !refused && (newer || bothNew || t.keeper.yieldsTo(c.sender)):
			o.tellSlots(l, c.name, c.slotOwner(), t.slotOwner())
			o.moveSlot(l, t, c)
		default:
			o.tellSlots(l, c.name, t.slotOwner(), c.slotOwner())
		}
	}
}

// slotOwner is a daemon that advertises a slot.
type slotOwner struct {
	address string
	sender  sender
}

func (c slotClaim) slotOwner() slotOwner { return slotOwner{c.address, c.sender} }
func (t *slotText) slotOwner() slotOwner { return slotOwner{t.address, t.keeper.sender} }

// tellSlots notes that one daemon keeps a slot's name, and another does not get it.
func (o *Observer) tellSlots(l *look, name string, keeps, other slotOwner) {
	l.conflict("two machines advertise a slot %s, at %s (%s) and %s (%s): the first of them keeps the name"+
		howToDecide("STARTD"), name, keeps.address, keeps.sender.String(), other.address, other.sender.String())
}

// moveSlot gives a slot's name to another daemon than has it.
func (o *Observer) moveSlot(l *look, t *slotText, c slotClaim) {
	t.address, t.lines, t.keeper = c.address, t.lines[:0], keeper{}
	o.takeSlot(c.lines, l)
}

// keepSlot keeps a slot as it is whose ad another's has replaced in the collector.
func (o *Observer) keepSlot(l *look, name string) {
	t, s := o.read[name], o.edit(name)
	t.look = l.Number
	if s.own == nil && len(t.lines) > 0 { // else all slots are read anew
		s.own, _ = o.parser.ParseOld(string(t.lines)) // it could be parsed before
	}
}

// precedes tells whether a slot has its name rather than the one that has it, where both are new: a
// former observer knew it there, or the collector knows it better, or else always the same one.
func (o *Observer) precedes(c slotClaim, other *slotText) bool {
	if home, known := o.homes.Slots[c.name]; known && sameDaemon(home, c.address) != sameDaemon(home, other.address) {
		return sameDaemon(home, c.address)
	}
	return cmp.Or(cmp.Compare(other.keeper.sender.trust(), c.sender.trust()), strings.Compare(c.address, other.address)) < 0
}

// isStrange tells whether the ad is of a dynamic slot of another daemon than the slot has that it
// claims to be a part of.
func (o *Observer) isStrange(name string, ad *classad.ClassAd, address string) bool {
	dynamic, _ := ad.Literal("DynamicSlot").Bool()
	host := o.read[Parent(name)]
	return dynamic && host != nil && !host.isOf(address, senderOf(ad), o.looked)
}

// isOf tells whether an ad is of the slot's daemon.
func (t *slotText) isOf(address string, s sender, now time.Time) bool {
	return sameDaemon(t.address, address) && !t.keeper.refuses(s, now)
}

// partOfAnother is isStrange for a slot that is known.
func (o *Observer) partOfAnother(s *Slot) bool {
	host := o.read[s.Host]
	t := o.read[s.Name]
	return s.Dynamic && host != nil && !host.isOf(t.address, t.keeper.sender, o.looked)
}

// settlePart takes in a dynamic slot if the slot that it is a part of has moved to its address by
// now.
func (o *Observer) settlePart(l *look, c slotClaim) {
	host := o.read[Parent(c.name)]
	if host != nil && !host.isOf(c.address, c.sender, l.Began) {
		l.conflict("slot %s is advertised at %s as a part of a slot at %s: it is left out", c.name, c.address, host.address)
		return
	}
	o.takeSlot(c.lines, l)
}

// takeSlot reads a slot's ad; one that is of no use is left out, and told in the log.
func (o *Observer) takeSlot(lines cedar.Lines, l *look) {
	grew, err := o.readSlot(lines, l)
	if err != nil {
		o.log.Warn("a slot ad is left out", "error", err)
		l.leaveOut("slots", err)
	}
	l.grew = l.grew || grew
}

// addressOf returns the address in an ad's lines; "" if there is none.
func addressOf(lines cedar.Lines) string {
	quoted, _ := lines.Find("MyAddress")
	return strings.Trim(string(quoted), `"`)
}

// dropStrangeParts drops the dynamic slots that this look saw for the first time, and that another
// daemon advertises than the slot that they claim to be parts of. It may have restarted: then they
// are taken in with the next look.
func (o *Observer) dropStrangeParts(l *look) {
	for name, t := range o.read {
		s := o.slots[name]
		if t.first == l.Number && o.partOfAnother(s) {
			host := o.read[s.Host]
			l.conflict("slot %s is advertised at %s as a part of a slot at %s: it is left out", name, t.address, host.address)
			delete(o.slots, name)
			delete(o.read, name)
		}
	}
}
