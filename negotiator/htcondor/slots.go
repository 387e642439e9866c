package htcondor

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// slot is a slot ad as it was seen last. Dynamic slots are parts of the
// partitionable one that they were cut from, and not planned with themselves.
type slot struct {
	name  string
	lines cedar.Lines // as it came, to see whether it changed
	look  int         // the number of the look that saw it last
	heard time.Time   // when a look first saw it as it is; any word of its startd changes it

	// host is the slot that is planned with: this one, or of a dynamic one its parent's
	// name.
	host string
	// ad is what jobs are matched with; nil for a dynamic slot. It is the same as long
	// as nothing changes that matters.
	ad   *negotiator.Slot
	text string           // of ad
	told *negotiator.Slot // as the negotiator knows it
	up   bool             // the negotiator knows it
	gone time.Time        // of the first look that missed it; zero: it is there

	// free is what it can give now, of a claimed static slot nothing; of a dynamic one
	// it is what it takes from its parent.
	free    backfill.Vector
	claimed bool
	static  bool
	shut    bool // it is gone with its jobs, and told as one that takes no others
	// runs is the job on a claimed slot; the zero key: none that it knows of.
	runs    jobKey
	since   backfill.Time // of the claim
	claimer string        // the user
	foreign backfill.JobID
	strange time.Time // since when its claim is nobody's that we know; zero: it is not

	// When a look last saw that a claim had begun on it or a part of it, and of which job;
	// when its startd began, and when a look first saw that.
	began     time.Time
	beganFor  jobKey
	started   int64
	restarted time.Time
	// outlived is since when its startd is seen to have begun anew without it; zero: it is not.
	outlived time.Time
	// When its startd made the ad, and the dynamic slots that it then said were cut from it;
	// nil: it does not say.
	made  backfill.Time
	parts map[string]bool
	// veiled is how it is told while it is left out for veil, made of unveiled.
	veiled, unveiled *negotiator.Slot
	veil             string
}

// unlimited is how many jobs a partitionable slot can host.
const unlimited = 1 << 20

// readSlot takes a slot ad in. It reports whether it refers to attributes that
// were not asked for.
func (p *Pool) readSlot(lines cedar.Lines, number int) (grew bool, err error) {
	quoted, ok := lines.Find("Name")
	if !ok || len(quoted) < 3 {
		return false, errors.New("a slot ad has no name")
	}
	s := p.slots[string(quoted[1:len(quoted)-1])]
	if s != nil && bytes.Equal(s.lines, lines) {
		s.look, s.gone = number, time.Time{}
		return false, nil
	}
	name := string(quoted[1 : len(quoted)-1])
	ad, err := p.parser.ParseOld(string(lines))
	if err != nil {
		return false, fmt.Errorf("slot %s: %w", name, err)
	}
	if s == nil {
		s = &slot{name: name}
		p.slots[name] = s
	}
	s.lines, s.look, s.gone, s.heard = append(s.lines[:0], lines...), number, time.Time{}, p.looked
	return p.fill(s, ad)
}

// fill reads an ad into a slot.
func (p *Pool) fill(s *slot, ad *classad.ClassAd) (grew bool, err error) {
	dynamic, _ := ad.Bool("DynamicSlot")
	partitionable, _ := ad.Bool("PartitionableSlot")
	state, _ := ad.Text("State")
	s.host, s.static = s.name, !partitionable && !dynamic
	if dynamic {
		s.host = parent(s.name)
	}
	before, who, when := s.claimed, s.runs, s.since
	s.claimed = !partitionable && (state == "Claimed" || state == "Preempting")
	s.readClaim(ad)
	if host := p.slots[s.host]; host != nil && s.claimed && (!before || who != s.runs || when != s.since) {
		host.began, host.beganFor = p.looked, s.runs
	}
	if started, ok := ad.Int("DaemonStartTime"); ok && started != s.started {
		if s.started != 0 {
			s.restarted = p.looked
		}
		s.started = started
	}
	made, _ := ad.Int("MyCurrentTime")
	s.made, s.parts = backfill.Time(made), readParts(ad)
	s.free = p.amounts(ad)
	if dynamic {
		s.ad = nil
		return false, nil
	}
	last := len(s.free) - 1
	s.free[last] = 1
	if partitionable {
		s.free[last] = unlimited
	}
	ad.SetInt(Claims, s.free[last])
	// A slot whose job is being put out will be there again; a partitionable one that
	// somebody has claimed as a whole is his.
	open := state == "Unclaimed" || state == "Matched" || s.static && s.claimed
	if s.static && s.claimed {
		clear(s.free)
	}
	if !open {
		clear(s.free)
	}
	for name, e := range ad.All() {
		_, external, _ := e.Refs(ad) // what is in a circle is error
		if name = strings.ToLower(name); name == "requirements" || p.slotAttributes.referred[name] || strings.HasPrefix(name, "consumption") {
			grew = p.slotAttributes.refer(external) || grew
			grew = p.jobAttributes.refer(external) || grew
		}
	}
	return grew, p.matchable(s, ad, open)
}

// matchable makes the ad that jobs are matched with.
func (p *Pool) matchable(s *slot, ad *classad.ClassAd, open bool) error {
	var passed []string
	for name := range ad.All() {
		if !p.slotAttributes.kept(name) {
			passed = append(passed, name)
		}
	}
	for _, name := range passed {
		ad.Delete(name)
	}
	if offline, _ := ad.Bool("Offline"); offline || !open {
		ad.SetBool("Requirements", false)
	}
	read, err := p.s.Schema.SlotFromAd(ad)
	if err != nil {
		return err
	}
	if text := read.Ad.Format(ast.Long); s.ad == nil || text != s.text {
		// Changed ads have names of their own; read once more, they share them, and what else is the same.
		if shared, err := p.parser.ParseOld(text); err == nil {
			read.Ad = shared
		}
		s.ad, s.text = read, text
		p.round(s)
	}
	return nil
}

// readClaim notes who has the slot.
func (s *slot) readClaim(ad *classad.ClassAd) {
	s.runs, s.claimer = jobKey{}, ""
	if !s.claimed {
		return
	}
	entered, _ := ad.Int("EnteredCurrentState")
	s.since = backfill.Time(entered)
	if started, ok := ad.Int("JobStart"); ok {
		s.since = backfill.Time(started)
	}
	s.claimer, _ = ad.Text("RemoteUser")
	id, _ := ad.Text("JobId")
	global, _ := ad.Text("GlobalJobId")
	if cluster, proc, ok := parseJobID(id); ok {
		schedd, _, _ := strings.Cut(global, "#")
		s.runs = jobKey{schedd, cluster, proc}
	}
}

// readParts reads which dynamic slots a partitionable one has; nil: it does not say.
func readParts(ad *classad.ClassAd) map[string]bool {
	names, ok := ad.Eval("ChildName", nil).Items()
	if !ok {
		return nil
	}
	parts := make(map[string]bool, len(names))
	for _, name := range names {
		text, _ := name.Text()
		parts[text] = true
	}
	return parts
}

// deleted tells whether a dynamic slot is no more, although the collector has its ad: it may
// get the last one after the word that the slot is gone, and then keeps it for a quarter of an hour
// (CLASSAD_LIFETIME). What was cut from a slot it tells itself; a claim that began later it
// could not tell of. Both times are the startd's.
func (p *Pool) deleted(s *slot) bool {
	host := p.slots[s.host]
	return s.claimed && host != nil && host != s && host.parts != nil && !host.parts[s.name] && 0 < s.since && s.since < host.made
}

// parseJobID reads 12.0.
func parseJobID(text string) (cluster, proc int64, ok bool) {
	c, pr, ok := strings.Cut(text, ".")
	if !ok {
		return 0, 0, false
	}
	cluster, err := strconv.ParseInt(c, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	proc, err = strconv.ParseInt(pr, 10, 64)
	return cluster, proc, err == nil
}

// amounts are what an ad says that there is of each resource.
func (p *Pool) amounts(ad *classad.ClassAd) backfill.Vector {
	v := make(backfill.Vector, len(p.s.Schema.Resources))
	for i, resource := range p.s.Schema.Resources {
		if n, ok := ad.Eval(resource, nil).Number(); ok && n > 0 {
			v[i] = int64(n)
		}
	}
	return v
}

// parent is the slot that a dynamic one was cut from: slot1@host of slot1_3@host.
func parent(name string) string {
	local, host, _ := strings.Cut(name, "@")
	if at := strings.LastIndexByte(local, '_'); at > 0 {
		local = local[:at]
	}
	return local + "@" + host
}

// startd is whose slot it is: all of a startd's have its name.
func (s *slot) startd() string {
	_, name, _ := strings.Cut(s.name, "@")
	return name
}

// fewRoundings is how many ways of taking amounts are remembered, whether there are slots
// with them or not.
const fewRoundings = 50

// round notes how a partitionable slot takes amounts: as its consumption policy
// says, or rounded as startds do it. What was seen once counts until many others were.
func (p *Pool) round(s *slot) {
	if s.static {
		return
	}
	key := p.consumption(s.ad.Ad)
	if p.rounding[key] != nil {
		return
	}
	if len(p.rounding) >= p.manyRoundings {
		clear(p.rounding)
		for _, o := range p.slots {
			if o.ad != nil && !o.static {
				p.rounding[p.consumption(o.ad.Ad)] = o.ad
			}
		}
		p.manyRoundings = max(fewRoundings, 2*len(p.rounding))
	}
	p.rounding[key] = s.ad
	p.replan() // jobs take other amounts now
}

// replan has all jobs be planned with anew as their queues are read next.
func (p *Pool) replan() {
	p.plans = map[string]*plan{}
	for _, s := range p.schedds {
		s.groups = map[string]*group{}
	}
}

// consumption is the text of a slot's consumption policy; "": it has none.
func (p *Pool) consumption(ad *classad.ClassAd) string {
	var text strings.Builder
	for _, resource := range p.s.Schema.Resources {
		if e, ok := ad.Lookup("Consumption" + resource); ok {
			text.WriteString(e.String() + "\n")
		}
	}
	return text.String()
}

// taken is how much of each resource a job is given that asks for so much.
func (p *Pool) taken(job *classad.ClassAd, asked backfill.Vector) backfill.Vector {
	most := append(backfill.Vector{}, asked...)
	for policy, s := range p.rounding {
		if policy == "" {
			for i, amount := range asked {
				most[i] = max(most[i], roundUp(p.s.Schema.Resources[i], amount, s.Capacity[i]))
			}
			continue
		}
		for i, resource := range p.s.Schema.Resources {
			e, ok := s.Ad.Lookup("Consumption" + resource)
			if !ok {
				continue
			}
			if n, isNumber := e.Eval(classad.Scope{My: s.Ad, Target: job}).Number(); isNumber && n >= 0 && n < 1e15 {
				most[i] = max(most[i], ceil(n))
			}
		}
	}
	return most
}

func ceil(n float64) int64 {
	whole := int64(n)
	if float64(whole) < n {
		whole++
	}
	return whole
}

// roundUp is what a startd without a consumption policy makes of an amount: memory
// in steps of 128 MiB, disk of 1 MiB and then of thousandths of all it has.
func roundUp(resource string, amount, total int64) int64 {
	step := func(n, by int64) int64 { return (n + by - 1) / by * by }
	switch {
	case amount == 0:
		return 0
	case strings.EqualFold(resource, "memory"):
		return step(amount, 128)
	case strings.EqualFold(resource, "disk"):
		amount = step(amount, 1024)
		if total >= 1000 {
			amount = min(max(total, amount), step(amount, ceil(float64(total)/1000)))
		}
		return amount
	default:
		return amount
	}
}
