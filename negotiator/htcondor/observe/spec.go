package observe

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// Spec is what a job is planned by. Jobs whose ads, without what is mere state, are equal share one
// Spec.
type Spec struct {
	// Ad is what the job is matched with; Text is the ad's text.
	Ad   *classad.ClassAd
	Text string
	// Request is what each chunk takes, and Nodes the number of chunks.
	Request backfill.Vector
	Nodes   int
	// Estimate and Limit are run times in seconds; 0 if the job brings none. HTCondor ends the job at
	// the limit.
	Estimate, Limit backfill.Time
	Labels          map[string]string
	// Parallel says that the job is a gang, a job of several chunks that start together.
	Parallel bool
	// Kind is a digest of what the procs of a gang must have in common.
	Kind [sha256.Size]byte
	// Limits are the job's concurrency limits, as text and as read.
	Limits  string
	Limited []accountant.Limit
	// BySlot says that the concurrency limits are not known, as they depend on the slot: the ad has them as
	// [negotiator.SlotLimits].
	BySlot bool
	// Scavenger says that jobs run on what is idle, and make way at once for any other job. Vacate is for
	// how many seconds one may take to leave, if it says so.
	Scavenger bool
	Vacate    *float64
	// Wrong is why jobs of this Spec cannot be planned; nil if they can.
	Wrong error
	// Wish is what the ad asks for before it is rounded; nil if it never was.
	Wish *Wish

	user, account string   // User and AccountingGroup, or what stands for them, see readNames
	submitter     string   // what follows from these
	project       string   // ProjectName
	refers        []string // the attributes of slots that the ad refers to
	mayRetire     bool     // see MayRetire
	crowded       bool     // it is Wrong because of other jobs of its user, or of how slots round
	leftOut       bool     // it is Wrong because most of the ad was left out, see intake
	unread        bool     // it is left out for now: its user has taken what reading may cost in a look
	// state are attributes that are mere state for other jobs and that this ad refers to: what
	// jobs with this text are planned by differs. The Spec has nothing else then.
	state []string
	// without is the Spec of the same ad without that state; nil if there is none.
	without *Spec
	look    int // the last look that saw jobs of the Spec
}

// see notes that a look saw jobs of the Spec.
func (s *Spec) see(look int) {
	for ; s != nil; s = s.without {
		s.look = look
	}
}

// Submitter returns the user or accounting group under which the job's use is accounted.
func (s *Spec) Submitter() string { return s.submitter }

// isOf notes whose the jobs are, once: their submitter is asked for many times in a look.
func (s *Spec) isOf(user, account string) {
	s.user, s.account, s.submitter = user, account, user
	if account != "" {
		_, domain, _ := strings.Cut(user, "@")
		s.submitter = account + "@" + domain
	}
}

// User returns the user whose job it is, as the schedd knows him: unlike the accounting group,
// users cannot choose it.
func (s *Spec) User() string { return s.user }

// Project returns the project that the jobs are of; "": none.
func (s *Spec) Project() string { return s.project }

// Charged is who pays for a job, and what it takes of limits.
type Charged struct {
	User     string `json:"user"`
	Account  string `json:"account,omitempty"`
	Limits   string `json:"limits,omitempty"`
	Parallel bool   `json:"parallel,omitempty"`
}

// Check errs if a name or limit is none that a job's ad can have brought.
func (c Charged) Check() error {
	_, err := accountant.ParseLimits(c.Limits)
	if c.Account != "" {
		err = errors.Join(err, accountant.CheckName(c.Account))
	}
	if c.User != "" {
		err = errors.Join(err, accountant.CheckName(c.User))
	}
	return err
}

// Charged returns who pays for jobs of the Spec.
func (s *Spec) Charged() Charged { return Charged{s.user, s.account, s.Limits, s.Parallel} }

// As returns the Spec of a job that runs as it was when it was charged and requested so much for
// each of its nodes.
func (s *Spec) As(c Charged, request backfill.Vector, nodes int, resources []string) *Spec {
	as := *s
	as.Ad, as.Wrong, as.Wish = s.Ad.Clone(), nil, nil
	as.isOf(c.User, c.Account)
	as.Limits, as.Parallel, as.BySlot = c.Limits, c.Parallel, s.BySlot && c.Limits == ""
	as.Limited, _ = accountant.ParseLimits(c.Limits)
	as.Request, as.Nodes = slices.Clone(request), nodes
	as.request(resources)
	as.Text = as.Ad.Format(ast.Long)
	return &as
}

// On returns the Spec of a job whose concurrency limits depend on the slot, on one where they come to
// these.
func (s *Spec) On(limits string) *Spec {
	on := *s
	on.BySlot, on.Limits = false, limits
	on.Limited, _ = accountant.ParseLimits(limits)
	return &on
}

// Schedd returns the schedd in whose queue the jobs are.
func (s *Spec) Schedd() string {
	name, _ := s.Ad.Literal(ScheddAttribute).Text()
	return name
}

// maxSpecs bounds the Specs, by which jobs are planned, that are remembered.
const maxSpecs = 100_000

// parallelUniverse is the universe of gangs, jobs of several chunks.
const parallelUniverse = 11

// ScheddAttribute is the attribute of job ads that names the job's schedd.
const ScheddAttribute = "BackfillSchedd"

// specOf finds or makes the Spec for a job's ad in a schedd's queue, after it has deleted the
// attributes that are mere state and that the ad does not refer to itself. It reports whether the
// ad refers to attributes of slots that were not asked for.
func (o *Observer) specOf(ad *classad.ClassAd, schedd string) (_ *Spec, grew bool) {
	o.takeBound(ad)
	if o.s.IgnoreJob {
		ad.Delete("Rank")
	}
	state := o.jobAttributes.strip(ad)
	ad.SetString(ScheddAttribute, schedd)
	var without *Spec
	for {
		text := ad.Format(ast.Long)
		known := o.specs[text]
		if known == nil {
			if len(o.specs) >= maxSpecs {
				o.specs = map[string]*Spec{}
			}
			refers, wrong := o.references(ad)
			known = &Spec{state: slices.DeleteFunc(slices.Clone(refers), func(name string) bool { return state[name] == nil })}
			if len(known.state) == 0 {
				known, grew = o.makeSpec(ad, refers)
				known.mayNotRefer(wrong)
			}
			known.without = without
			o.specs[text] = known
		}
		if len(known.state) == 0 {
			return o.roundedAnew(known), grew
		}
		without = known
		for _, name := range known.state { // the rest of the text stands for several Specs
			ad.Set(name, state[name])
			delete(state, name)
		}
	}
}

// dropSpecs forgets the Specs of which no jobs are left: users can have new ones in each look.
func (o *Observer) dropSpecs() {
	for _, s := range o.schedds {
		for _, g := range s.Groups { // of a schedd that did not answer, too
			g.Spec.see(o.number)
		}
	}
	maps.DeleteFunc(o.specs, func(_ string, s *Spec) bool {
		if s.Wish != nil {
			s = s.Wish.spec
		}
		return s.look != o.number
	})
}

// referToSlots has slots asked for what a job's ad refers to. It errs, and asks for nothing, if
// that is more than a job or its user may have asked for; crowded says that it was the user's.
func (o *Observer) referToSlots(user string, names []string) (grew, crowded bool, err error) {
	if len(names) > maxOfOne {
		return false, false, fmt.Errorf("it refers to %d attributes of slots: must be at most %d", len(names), maxOfOne)
	}
	known := o.refersOf[user]
	if known == nil {
		known = map[string]bool{}
		o.refersOf[strings.Clone(user)] = known // it may be a part of a long text
	}
	fresh := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return known[name] })
	if len(known)+len(fresh) > maxOfUser {
		return false, true, fmt.Errorf("the jobs of %s refer to %d attributes of slots with it: must be at most %d",
			user, len(known)+len(fresh), maxOfUser)
	}
	for _, name := range fresh {
		known[name] = true
	}
	return o.slotAttributes.refer(names, o.looked), false, nil
}

// makeSpec makes the Spec of a job's ad, which refers to these attributes of slots. It reports
// whether some of them were not asked for.
func (o *Observer) makeSpec(ad *classad.ClassAd, refers []string) (_ *Spec, grew bool) {
	s := &Spec{Ad: ad, Nodes: 1, Labels: o.s.Schema.LabelsOf(ad, &o.meter), refers: refers}
	misnamed := o.readNames(s, ad)
	takes := &alone{o: o, ad: ad}
	universe, _ := o.value(ad, "JobUniverse").Int()
	s.Parallel = universe == parallelUniverse
	var unclear, tooMany error
	s.Limits, s.BySlot, unclear = takes.limits(s.Parallel)
	s.Limited, tooMany = o.limitsOf(s.Limits)
	if ad.Delete(negotiator.SlotLimits); s.BySlot {
		ad.Set(negotiator.SlotLimits, slotLimits)
	}
	if s.Parallel {
		nodes, _ := o.value(ad, "MaxHosts").Int()
		if nodes < 1 || nodes > backfill.MaxChunks {
			s.Wrong = fmt.Errorf("MaxHosts is %v: must be a whole number from 1 to %d",
				o.value(ad, "MaxHosts"), backfill.MaxChunks)
		}
		s.Nodes = int(max(1, min(nodes, backfill.MaxChunks)))
	}
	s.Limit = o.shortest(ad, append(slices.Clone(o.s.Schema.Limits), boundAttribute))
	s.Estimate = cmp.Or(o.seconds(ad, o.s.Schema.Estimates), s.Limit)
	asked, err := o.asked(takes)
	err = errors.Join(o.affordable(ad, slices.Concat(o.s.Schema.Estimates, o.s.Schema.Limits)), unclear, tooMany, err)
	if err != nil {
		s.Wrong = err
	} else if s.Request, err = o.rounding.taken(ad, asked); err != nil {
		s.Wrong, s.crowded = err, true
	} else {
		s.Wish = o.wishOf(ad, asked)
		s.Wish.spec = s
		s.request(o.s.Schema.Resources)
	}
	o.stopClock(ad)
	needed, grew, wrong := o.readScavenger(s, ad)
	refers = append(slices.Clip(refers), needed...)
	s.refers = refers
	s.Wrong = errors.Join(s.Wrong, takes.require(), wrong)
	s.Text = ad.Format(ast.Long)
	if s.Parallel {
		o.again += kindsPerRead * len(s.Text) / bytesPerRead
		s.Kind = kindOf(ad, o.s.Schema.Resources)
	}
	more, crowded, err := o.referToSlots(s.user, refers)
	if grew = grew || more; err != nil {
		s.Wrong, s.refers, s.crowded = err, nil, crowded
	}
	var limit int64
	if limit, s.leftOut = ad.Literal(leftOutAttribute).Int(); s.leftOut {
		s.Wrong, s.unread = leftOutBecause(limit, s.user), limit == readLater
	}
	s.Wrong = errors.Join(misnamed, s.Wrong)
	if s.Wrong != nil { // it may quote values of any length
		s.Wrong = errors.New(backfill.AsReason(strings.ReplaceAll(s.Wrong.Error(), "\n", "; ")))
	}
	return s, grew
}

// limitsOf reads concurrency limits. Jobs with the same ones mostly share them, by which they are
// looked up once in each cycle.
func (o *Observer) limitsOf(text string) ([]accountant.Limit, error) {
	const most, longest = 10_000, 256
	if known, ok := o.limits[text]; ok {
		return known, nil
	}
	limits, err := accountant.ParseLimits(text)
	if err == nil && text != "" && len(text) <= longest {
		if len(o.limits) >= most {
			clear(o.limits)
		}
		o.limits[text] = limits
	}
	return limits, err
}

// request writes what each chunk takes into the job's ad. More than the negotiator can plan with is
// noted in Wrong.
func (s *Spec) request(resources []string) {
	for i, resource := range resources {
		if most := backfill.MaxAmount / int64(s.Nodes); s.Request[i] > most {
			s.Wrong = errors.Join(s.Wrong, fmt.Errorf("it would take %d %s on each of %d nodes: must be at most %d",
				s.Request[i], resource, s.Nodes, most))
		}
		s.Ad.SetInt("Request"+negotiator.Attribute(resource), s.Request[i])
	}
}

// asked returns what each chunk of a job requests: one cpu at least, as no startd gives less, and
// nothing of other resources where the ad does not say. It errs if an amount is no number or out of
// range, or may be another where the job starts.
func (o *Observer) asked(takes *alone) (backfill.Vector, error) {
	asked := make(backfill.Vector, len(o.s.Schema.Resources))
	asked[0] = 1
	var wrong []error
	for i, resource := range o.s.Schema.Resources {
		v, err := takes.value("Request" + negotiator.Attribute(resource))
		n, isNumber := v.Number()
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case resource == Claims:
			asked[i] = 1
		case v.Kind() == classad.Undefined:
		case !isNumber || math.IsNaN(n) || n < 0 || n > backfill.MaxInputAmount:
			wrong = append(wrong, fmt.Errorf("its Request%s is %v: must be a number from 0 to %d",
				negotiator.Attribute(resource), v, int64(backfill.MaxInputAmount)))
		default:
			asked[i] = max(asked[i], ceil(n))
		}
	}
	return asked, errors.Join(wrong...)
}

// affordable returns an error for each attribute that takes too many steps to evaluate, among these
// and those that say who pays for the job.
func (o *Observer) affordable(ad *classad.ClassAd, attributes []string) error {
	var wrong []error
	seen := map[string]bool{}
	for _, name := range slices.Concat([]string{"AccountingGroup", "MaxHosts"}, attributes) {
		if _, err := negotiator.EvaluateMetered(ad, name, &o.meter); err != nil && !seen[name] {
			wrong, seen[name] = append(wrong, err), true
		}
	}
	return errors.Join(wrong...)
}

// shortest returns the least of the values, rounded up, of those attributes that are numbers above
// 0; 0 if none is.
func (o *Observer) shortest(ad *classad.ClassAd, attributes []string) (least backfill.Time) {
	for _, name := range attributes {
		if n := o.seconds(ad, []string{name}); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// seconds returns the value, rounded up, of the first attribute that is a number above 0; 0 if none
// is.
func (o *Observer) seconds(ad *classad.ClassAd, attributes []string) backfill.Time {
	const most = backfill.MaxTime / 2 // the negotiator adds its slack, up to twice that
	for _, name := range attributes {
		if n, ok := o.value(ad, name).Number(); ok && n > 0 {
			return backfill.Time(ceil(min(n, most)))
		}
	}
	return 0
}
