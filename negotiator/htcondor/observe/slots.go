package observe

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// Claims is the resource that says how many jobs a slot can host. A static slot hosts one job,
// however little of it the job asks for.
const Claims = "claims"

// Unlimited is how many jobs a partitionable slot can host.
const Unlimited = 1 << 20

// slotText is what a slot was read from.
type slotText struct {
	lines cedar.Lines // the ad as it came
	ad    string      // the text of the slot's Ad
	look  int         // the last look that saw the slot
	first int         // the first one
	// unlisted is since when the slot is claimed and its parent does not list it.
	unlisted time.Time
	// address is that of the slot's startd, whose the name is, and keeper who sends its ads.
	address string
	keeper  keeper
	copied  int      // the look that made the present copy of the slot, and alone may change it
	refers  []string // the attributes that the ad refers to and does not have
	host    string   // of the address
	ranked  bool     // see noteRank
	size    int      // what it is charged, in bytes of memory
}

// edit returns a slot for the present look at the pool to change: a copy, since snapshots of
// earlier looks keep the old one.
func (o *Observer) edit(name string) *Slot {
	s, t := o.slots[name], o.read[name]
	if t.copied != o.number {
		c := *s
		s, t.copied = &c, o.number
		o.slots[name] = s
	}
	return s
}

// readSlot reads a slot's ad in a look. It reports whether the ad refers to attributes that the
// query did not ask for. It errs if the ad has no name, cannot be parsed, or makes no slot to plan
// with. An ad whose name another daemon's slot has is put aside until all have come.
func (o *Observer) readSlot(lines cedar.Lines, l *look) (grew bool, err error) {
	quoted, ok := lines.Find("Name")
	if !ok || len(quoted) < 3 {
		return false, errors.New("a slot ad has no name")
	}
	t := o.read[string(quoted[1:len(quoted)-1])]
	if t != nil && bytes.Equal(t.lines, lines) {
		t.look, t.keeper.seen = l.Number, l.Began
		if s := o.slots[string(quoted[1:len(quoted)-1])]; !s.Missing.IsZero() || s.own != nil {
			s = o.edit(s.Name)
			s.Missing, s.Advertised, s.own = time.Time{}, true, nil
		}
		return false, nil
	}
	name := string(quoted[1 : len(quoted)-1])
	if err = checkSlot(name); err != nil {
		return false, fmt.Errorf("slot %w", err)
	}
	address := addressOf(lines)
	host := hostOf(address)
	tokens, err := o.slotReads.afford(t, lines, host, l.Number)
	if err != nil {
		return false, fmt.Errorf("slot %s: %w", name, err)
	}
	defer o.chargeSlot(t != nil, lines, tokens, host)()
	ad, err := o.parser.ParseOld(string(lines))
	if err != nil {
		return false, fmt.Errorf("slot %s: %w", name, err)
	}
	if text, _ := ad.Literal("Name").Text(); text != name { // it would have two names, one perhaps another's
		return false, fmt.Errorf("slot %s: its Name is %s: must be a plain text", name, backfill.Printable(text, 60))
	}
	from := senderOf(ad)
	if t != nil && !t.isOf(address, from, l.Began) || t == nil && o.isStrange(name, ad, address) {
		heard, _ := ad.Literal("LastHeardFrom").Int()
		o.claimSlot(l, slotClaim{lines, name, address, heard, from})
		return false, nil
	}
	if t == nil {
		t = &slotText{first: l.Number}
		o.read[name], o.slots[name] = t, &Slot{Name: name}
	}
	t.lines, t.look, t.address = append(t.lines[:0], lines...), l.Number, address
	t.keeper = keeper{from, l.Began}
	o.slotReads.keep(t, host, slotPrice(lines, tokens))
	s := o.edit(name)
	s.Missing, s.Advertised, s.Changed, s.Address = time.Time{}, true, o.looked, address
	s.sender, s.own = from, nil
	o.noteEnds(ad)
	l.noteOdd("slot", name, ad, stateOfSlots)
	return o.fill(s, ad)
}

// checkSlot judges a slot's name, as its ad has it. It is plain, or the slot would have two names;
// and jobs list the slots where they run with blanks between them.
func checkSlot(name string) error {
	if strings.ContainsAny(name, " ,\"\\") {
		return fmt.Errorf("%s: its name must not have blanks, commas or quotes", backfill.Printable(name, 60))
	}
	return accountant.CheckWords(name)
}

// fill reads an ad into a slot. It reports whether the ad refers to attributes that were not asked
// for. An ad whose amounts are no numbers is an error, and changes nothing of the slot.
func (o *Observer) fill(s *Slot, ad *classad.ClassAd) (grew bool, err error) {
	if err = settle(ad, o.s.Schema.Resources, o.s.host(o.looked)); err != nil { // the slot stays as it was
		return false, fmt.Errorf("slot %s: %w", s.Name, err)
	}
	partitionable, _ := ad.Literal("PartitionableSlot").Bool()
	state, _ := ad.Literal("State").Text()
	if e, given := ad.Lookup("NegotiatorRequirements"); given { // they are for negotiators alone
		ad.Set("Requirements", e)
	}
	o.fillKind(s, ad, partitionable)
	wasClaimed, ran, since := s.Claimed, s.Runs, s.ClaimedSince
	s.Claimed = !partitionable && (state == "Claimed" || state == "Preempting")
	s.readClaim(ad)
	o.keepClaim(s, ad)
	grew = o.noteRank(o.read[s.Name], ad)
	if s.Claimed && o.slots[s.Host] != nil && (!wasClaimed || ran != s.Runs || since != s.ClaimedSince) {
		host := o.edit(s.Host)
		host.ClaimBegan, host.ClaimBeganFor = o.looked, s.Runs
	}
	o.noteStart(s, ad)
	s.heard, _ = ad.Literal("LastHeardFrom").Int()
	s.sequence, s.made = version(ad)
	s.Parts = readParts(ad)
	s.Free = Amounts(ad, o.s.Schema.Resources, o.s.host(o.looked))
	if s.Dynamic {
		o.weigh(s, ad)
		s.Ad = nil
		return grew, nil
	}
	o.noteResources(s.Name, ad)
	last := len(s.Free) - 1
	s.Free[last] = 1
	if partitionable {
		s.Free[last] = Unlimited
	}
	ad.SetInt(Claims, s.Free[last])
	open := o.isOpen(s, ad)
	if why := whyClosed(ad, open); why != "" {
		ad.SetString(negotiator.WhyClosed, why)
	}
	if s.Static && s.Claimed || !open {
		clear(s.Free)
	}
	// Until its job has ended, a startd has a static slot refuse all jobs and leaves its START out
	// of the ad. Whom the slot took before will find it free again.
	if s.Static && state == "Preempting" && open && s.Ad != nil {
		return grew, nil
	}
	o.ranks.put(ad, o.s.host(o.looked))
	t := o.read[s.Name]
	var needs []string
	if partitionable {
		needs = o.giveBack(ad)
	}
	t.refers = append(o.slotReferences(ad, t.host), needs...)
	grew = o.slotRefers(t) || grew
	o.weigh(s, ad) // which may replace an expression that refers to what was not asked for yet
	if open, err = o.setAside(s, ad, open); err != nil {
		return grew, err
	}
	return grew, o.makeAd(s, ad, open)
}

// isOpen tells whether a slot can be planned with. A static slot whose job is being evicted will be
// there again. Whoever has claimed a partitionable slot as a whole has all of it.
func (o *Observer) isOpen(s *Slot, ad *classad.ClassAd) bool {
	state, _ := ad.Literal("State").Text()
	later := !asleep(ad) && (state == "Matched" || s.Static && s.Claimed)
	return (Claimable(ad) || later) && !o.endsSoon(ad)
}

// setAside keeps a slot that is no part of the plan as it is when it takes jobs. It tells whether
// the slot of the plan takes any.
func (o *Observer) setAside(s *Slot, ad *classad.ClassAd, open bool) (still bool, err error) {
	s.Asleep, s.Overlapping, s.Overlaps = nil, nil, overlaps(ad)
	switch {
	case asleep(ad):
		s.Asleep, err = o.opened(ad)
	case s.Overlaps && open:
		s.Overlapping, err = o.opened(ad)
		ad.SetString(negotiator.WhyClosed, Overlaps)
		open = false
	}
	return open, err
}

// overlaps tells whether a slot's resources are those of its machine's other slots, once more. Its
// jobs use what these leave idle, and its startd ends them when these need it.
func overlaps(ad *classad.ClassAd) bool {
	overlaps, _ := ad.Literal("BackfillSlot").Bool()
	return overlaps
}

// asleep tells whether a slot's machine sleeps: the collector keeps its last ad, for whoever wakes
// machines that a job wants.
func asleep(ad *classad.ClassAd) bool {
	offline, _ := ad.Literal("Offline").Bool()
	return offline
}

// opened returns the slot of an ad as it is when it takes jobs.
func (o *Observer) opened(ad *classad.ClassAd) (*negotiator.Slot, error) {
	ad = ad.Clone()
	ad.Delete(negotiator.WhyClosed)
	end := o.endOf(ad)
	negotiator.FollowClock(ad)
	o.slotAttributes.strip(ad)
	slot, err := o.s.Schema.SlotFromAd(ad)
	if err == nil {
		slot.End = end
	}
	return slot, err
}

// Why slots take no jobs of the plan: their machine sleeps or drains, or their resources are those of
// other slots.
const (
	Sleeps   = "asleep"
	Overlaps = "for what other slots leave idle"
	draining = "draining"
)

// Drains tells whether the machine of a slot of the plan drains, as condor_drain has it: the slot's
// Requirements are then whether it takes a job before the last one of the machine has ended.
func Drains(slot *classad.ClassAd) bool {
	why, _ := slot.Literal(negotiator.WhyClosed).Text()
	return why == draining
}

// whyClosed says why the slot of an ad takes no jobs, whatever its Requirements say, or only those
// that its administrator admits while it drains; "" if it is none of these. Open says that it can
// be planned with.
func whyClosed(ad *classad.ClassAd, open bool) string {
	state, _ := ad.Literal("State").Text()
	switch {
	case asleep(ad):
		return Sleeps
	case state == "Drained":
		return draining
	case open:
		return ""
	case state == "Owner":
		return "in its owner's use"
	case state == "Preempting":
		return "vacating"
	case state == "Claimed":
		return "claimed as a whole"
	case state == "Unclaimed":
		return "about to shut down"
	default:
		return "not open to jobs"
	}
}

// slotRefers has slots and jobs asked for what a slot's ad refers to, unless the slots of its host
// refer to too much.
func (o *Observer) slotRefers(t *slotText) (grew bool) {
	grew, _, err := o.referToSlots(" "+t.host, t.refers) // no user has a blank
	return err == nil && o.jobAttributes.refer(t.refers, o.looked) || grew
}

// slotReferences returns the attributes that a slot's ad refers to and does not have, sorted. Only
// expressions that matter for a match count: the slot's own and those that jobs refer to. Of a slot
// that refers to too much, or whose host's slots have in this look, it returns a part: maxOfOne at most.
func (o *Observer) slotReferences(ad *classad.ClassAd, host string) []string {
	most, follow := usualReferSteps, &o.slotReads.follow
	if follow.within(host, slotFollows) {
		most = maxReferSteps
	}
	names, steps, _ := externals(ad, func(name string) bool {
		return o.slotAttributes.base[name] || o.slotAttributes.asked(name) || isRank(name) ||
			name == rank && o.claiming.considered
	}, most)
	follow.charge(host, max(0, steps-usualReferSteps)/stepsPerRead)
	return names[:min(len(names), maxOfOne)]
}

// makeAd makes the ad that jobs are matched with: without the attributes that are mere state, and
// refusing all jobs if the slot is not open to new jobs.
func (o *Observer) makeAd(s *Slot, ad *classad.ClassAd, open bool) error {
	end := o.endOf(ad)
	negotiator.FollowClock(ad) // before MyCurrentTime is gone
	o.slotAttributes.strip(ad)
	if !open {
		ad.SetBool("Requirements", false)
	}
	read, err := o.s.Schema.SlotFromAd(ad)
	if err != nil {
		return err
	}
	if s.Asleep != nil { // so there is more room in the pool once the machine is awake
		clear(read.Capacity)
	}
	read.End = end
	if t, text := o.read[s.Name], read.Ad.Format(ast.Long); s.Ad == nil || text != t.ad || end != s.Ad.End {
		// An ad that was changed owns its names. Parsed once more, it shares them with other ads.
		if shared, err := o.parser.ParseOld(text); err == nil {
			read.Ad = shared
		}
		r := &o.rounding
		r.fresh = r.fresh || s.Ad == nil || r.policy(s.Ad.Ad) != r.policy(read.Ad)
		s.Ad, t.ad, r.stale = read, text, true
	}
	return nil
}

// Claimable tells whether the slot of an ad can be claimed by a job that its Requirements allow.
// While the jobs of a machine drain (Drained/Retiring), its slots' Requirements are what was given
// to condor_drain -start; without it they are false. Once the last job has ended (Drained/Idle), a
// startd ignores claims, whatever the Requirements say. A slot in the state Backfill runs BOINC's
// work until it is claimed. No startd answers on a machine that sleeps.
func Claimable(ad *classad.ClassAd) bool {
	state, _ := ad.Literal("State").Text()
	activity, _ := ad.Literal("Activity").Text()
	return !asleep(ad) && (state == "Unclaimed" || state == "Backfill" || state == "Drained" && activity == "Retiring")
}

// IsClaimed tells whether somebody has the slot of an ad, and no claim takes it over yet.
func IsClaimed(ad *classad.ClassAd) bool {
	state, _ := ad.Literal("State").Text()
	return state == "Claimed"
}

// endOf returns from when on a slot runs no jobs, see [negotiator.Schema.EndOf].
func (o *Observer) endOf(ad *classad.ClassAd) backfill.Time {
	return backfill.Time(o.s.Schema.EndOf(ad, o.looked.Unix(), o.s.Zone))
}

// endsSoon tells whether a slot's startd will have ended ShutdownThreshold after it made the ad.
func (o *Observer) endsSoon(ad *classad.ClassAd) bool {
	if o.s.ShutdownThreshold <= 0 {
		return false
	}
	made, ok := ad.Literal("MyCurrentTime").Int()
	if !ok {
		made = o.looked.Unix()
	}
	then := made + int64(o.s.ShutdownThreshold/time.Second)
	s := classad.Scope{My: ad, MaxSteps: slotSteps, Host: o.s.host(time.Unix(then, 0))}
	return slices.ContainsFunc(negotiator.Shutdown(), func(name string) bool { return s.Attr(name).IsTrue() })
}

// readClaim notes which job and user have the slot, and since when.
func (s *Slot) readClaim(ad *classad.ClassAd) {
	s.Runs, s.Claimer = JobKey{}, ""
	activity, _ := ad.Literal("Activity").Text()
	s.Cleaning, s.Suspended = s.Claimed && activity == "Cleaning", s.Claimed && activity == "Suspended"
	if !s.Claimed {
		return
	}
	entered, _ := ad.Literal("EnteredCurrentState").Int()
	s.ClaimedSince = backfill.Time(entered)
	if started, ok := ad.Literal("JobStart").Int(); ok {
		s.ClaimedSince = backfill.Time(started)
	}
	s.Claimer, _ = ad.Literal("RemoteUser").Text()
	id, _ := ad.Literal("JobId").Text()
	if cluster, proc, ok := ParseJobID(id); ok {
		schedd, told := ad.Literal("RemoteScheddName").Text()
		if !told { // users may edit what older startds tell
			global, _ := ad.Literal("GlobalJobId").Text()
			schedd, _, _ = strings.Cut(global, "#")
		}
		s.Runs = JobKey{schedd, cluster, proc}
	}
}

// Refuses tells whether a slot takes no job, whatever it asks for.
func (s *Slot) Refuses() bool {
	if s.Ad == nil {
		return false
	}
	e, given := s.Ad.Ad.Lookup("Requirements")
	return given && strings.EqualFold(e.String(), "false")
}

// fillKind notes what kind of slot an ad is of, and which slot it was cut from.
func (o *Observer) fillKind(s *Slot, ad *classad.ClassAd, partitionable bool) {
	s.Data, _ = ad.Literal("IsDataSlot").Bool()
	s.Dynamic, _ = ad.Literal("DynamicSlot").Bool()
	s.Dynamic = s.Dynamic || s.Data // no job is planned there
	s.Host, s.Static = s.Name, !partitionable && !s.Dynamic
	if s.Dynamic {
		s.Host = Parent(s.Name)
	}
	if s.Data && o.slots[s.Host] == nil { // data1_1 was cut from slot1
		s.Host = "slot" + strings.TrimPrefix(s.Host, "data")
	}
}

// Parent returns the name of the slot that a dynamic one was cut from: slot1@host for slot1_3@host.
func Parent(name string) string {
	local, host, _ := strings.Cut(name, "@")
	if at := strings.LastIndexByte(local, '_'); at > 0 {
		local = local[:at]
	}
	return local + "@" + host
}
