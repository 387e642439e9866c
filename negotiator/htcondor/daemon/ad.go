package daemon

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Cycle is what a cycle did, and how long each part of it took.
type Cycle struct {
	Number     int
	Began, End time.Time
	// Fetch is the time of the look at the pool, Match of matching Requirements, Plan of the
	// policy's decision, Act of handing matches over, Publish of saving and publishing, and Rest of
	// all else, mostly accounting.
	Fetch, Match, Plan, Act, Publish, Rest time.Duration
	// CPU is the processor time that the process used during the cycle, without the look and its
	// comparison; FetchCPU during the look, RestCPU during the comparison, PlanCPU from there until
	// the decision, and ActCPU while matches were handed over.
	CPU, FetchCPU, PlanCPU, ActCPU, RestCPU time.Duration

	Slots, Schedds, Submitters, Idle, Running, Unplanned    int
	Considered, Started, Rejected, Broken, Refused, Waiting int
}

// status is what the Negotiator ad and the metrics say.
type status struct {
	name, host, address string
	started, configured time.Time
	slots               string // the slot constraint
	policy, order       string
	about, process      string  // describe the policy and its process, for the page
	choice              *choice // nil: the policy is not chosen
	fallback            string  // who decides, as the policy was given up; "": it was not
	observe             bool
	stopped             string // why nothing is matched; "" if matches are made
	guaranteed          bool
	broken              map[string]int // how many guarantees were broken since the start, by cause
	promises            track.Promises // what became of them since the start
	refusals, unstarted int
	page                string      // its address; "": there is none
	has                 observe.Has // for the pages of others
	unshared            string      // why priorities are not shared as they should be
	unwritten           int         // how often the state could not be written
	displacing          displacing
	paused              int           // slots that are left out because starts fail there
	deaf                int           // slots that are not lent, as their START does not heed leases
	kept, leftOut       int           // bytes of the queues, and jobs whose ads are too large
	found               int           // submits that schedds had not announced, and
	asked               time.Duration // the processor time of asking them
	drains              int           // slots that are drained
	scavenged           scavenged
	limits              []accountant.LimitUse
	contested           int           // ads that are left out since another daemon has their name
	reserved            int           // jobs with a reservation
	beyond              int           // jobs without, as the plan does not reach them
	planned             time.Duration // how long the last forecast took
	problems            []string
	cycles              []Cycle // the last ones, the newest first
	telling             config.Telling
	busy                time.Duration // how long all cycles took so far
	monitor             monitor
	sessions            func() int // how many sessions are kept
	total, sequence     int
	ended               int // jobs that have ended or were removed since the start
	rejected            int // rejections so far, as of the last cycle
}

// fallbackAttribute says in an ad who decides in the place of a policy that was given up.
const fallbackAttribute = "BackfillFallbackInUse"

// ObserverName begins the names of negotiators that match nothing, so that no other negotiator
// steps back because of them.
const ObserverName = "backfill-observe@"

// adType returns the type of our ad: that of a negotiator, or of one that only observes.
func (s *status) adType() string {
	if strings.HasPrefix(s.name, ObserverName) {
		return client.ObserverType
	}
	return client.NegotiatorType
}

// Platform is the platform in HTCondor's form.
const Platform = "$CondorPlatform: X86_64-Linux $"

// ad returns the Negotiator ad.
func (s *status) ad(now time.Time) *classad.ClassAd {
	ad := classad.New()
	for name, text := range map[string]string{
		"MyType": s.adType(), "Name": s.name, "Machine": s.host,
		"MyAddress": s.address, "NegotiatorIpAddr": s.address,
		"CondorVersion": security.Version, "CondorPlatform": Platform,
		"BackfillVersion": version(), "BackfillPolicy": s.policy, "BackfillOrder": s.order,
		"BackfillProblems": strings.Join(s.problems, "; "),
	} {
		ad.SetString(name, text)
	}
	if s.stopped != "" {
		ad.SetString("BackfillStopped", s.stopped)
	}
	if s.slots != "" {
		ad.SetString("BackfillSlotConstraint", s.slots)
	}
	if s.telling.PrioritiesOf != "" {
		ad.SetString("BackfillPrioritiesOf", s.telling.PrioritiesOf)
	}
	if s.fallback != "" {
		ad.SetString(fallbackAttribute, s.fallback)
	}
	s.choice.describe(ad)
	if len(s.limits) > 0 {
		ad.SetString("BackfillLimits", s.describeLimits())
	}
	if address, err := cedar.ParseAddress(s.address); err == nil {
		ad.SetString("AddressV1", address.V1())
	}
	ad.SetBool("BackfillObserve", s.observe)
	ad.SetBool("BackfillGuarantees", s.guaranteed)
	broken := 0
	for cause, n := range s.broken {
		broken += n
		ad.SetInt("BackfillGuaranteesBroken"+camel(cause), int64(n))
	}
	for name, n := range map[string]int64{
		"DaemonStartTime": s.started.Unix(), "DaemonLastReconfigTime": s.configured.Unix(),
		"MyCurrentTime": now.Unix(), "UpdateSequenceNumber": int64(s.sequence),
		"BackfillGuaranteesBroken": int64(broken), "BackfillRefusals": int64(s.refusals),
		"BackfillPromisesKept": int64(s.promises.Kept), "BackfillPromisesBroken": int64(s.promises.Broken),
		"BackfillPromisesElsewhere": int64(s.promises.Elsewhere), "BackfillPromisesGone": int64(s.promises.Gone),
		"BackfillPromisesOpen": int64(s.promises.Open()),
		"BackfillUnstarted":    int64(s.unstarted), "BackfillSlotsPaused": int64(s.paused),
		"BackfillSlotsDeaf": int64(s.deaf), "BackfillQueueBytes": int64(s.kept), "BackfillJobsLeftOut": int64(s.leftOut),
		"BackfillReserved": int64(s.reserved), "BackfillCycles": int64(s.total),
		"BackfillBeyondDepth": int64(s.beyond), "BackfillContestedNames": int64(s.contested),
		"BackfillDrains": int64(s.drains), "BackfillScavengersRunning": int64(s.scavenged.Running),
		"BackfillScavengersWaiting": int64(s.scavenged.Waiting), "BackfillScavengersDisplaced": int64(s.scavenged.Displaced),
		"BackfillScavengedCpuSeconds": s.scavenged.Ran, "BackfillScavengedCpuSecondsLost": s.scavenged.Lost,
	} {
		ad.SetInt(name, n)
	}
	ad.SetReal("BackfillStartTimesTook", s.planned.Seconds())
	s.describeHas(ad)
	s.describeSelf(ad, now)
	told := s.cycles[:min(len(s.cycles), s.telling.CycleStats)]
	for i, c := range told {
		var before time.Time
		if i+1 < len(told) {
			before = told[i+1].Began
		}
		c.describe(ad, strconv.Itoa(i), before)
	}
	return ad
}

// keptCycles is how many cycles are kept at least: recent ones say how busy the daemon is.
const keptCycles = 3

// add adds a cycle to those that are kept.
func (s *status) add(c Cycle) {
	most := max(keptCycles, s.telling.CycleStats)
	s.cycles = append([]Cycle{c}, s.cycles[:min(len(s.cycles), most-1)]...)
}

// describeSite adds the attributes of the site to an ad, but for those that it has: other daemons go by
// these.
func (s *status) describeSite(ad *classad.ClassAd) {
	site, err := classad.ParseOld(s.telling.SiteAttributes)
	if err != nil {
		return // each was parsed before
	}
	for name, e := range site.All() {
		if _, own := ad.Lookup(name); !own {
			ad.Set(name, e)
		}
	}
}

// describeLimits says what is used and wanted of the first concurrency limits.
func (s *status) describeLimits() string {
	const most = 20
	var all []string
	for _, l := range s.limits[:min(len(s.limits), most)] {
		all = append(all, l.String())
	}
	if further := len(s.limits) - most; further > 0 {
		all = append(all, fmt.Sprintf("and %d more", further))
	}
	return strings.Join(all, "; ")
}

// describe adds a cycle's statistics to an ad, under the stock negotiator's names. The suffix is
// the cycle's number, counted back from the last, and the time before is when the cycle before it
// began.
func (c Cycle) describe(ad *classad.ClassAd, suffix string, before time.Time) {
	const prefix = "LastNegotiationCycle"
	whole := func(d time.Duration) int64 { return int64(d.Round(time.Second) / time.Second) }
	period := int64(0)
	if !before.IsZero() {
		period = c.Began.Unix() - before.Unix()
	}
	took := c.End.Sub(c.Began)
	for name, n := range map[string]int64{
		"Time": c.Began.Unix(), "End": c.End.Unix(), "Period": period, "Duration": whole(took),
		"TotalSlots": int64(c.Slots), "TrimmedSlots": int64(c.Slots), "CandidateSlots": int64(c.Slots),
		"NumSchedulers": int64(c.Schedds), "NumIdleJobs": int64(c.Idle + c.Unplanned),
		"NumJobsConsidered": int64(c.Considered), "Matches": int64(c.Started), "Rejections": int64(c.Rejected),
		"ActiveSubmitterCount": int64(c.Submitters),
		"Pies":                 1, "PieSpins": 1, "PrefetchDuration": 0, "SlotShareIter": 0,
		"Phase1Duration": whole(c.Fetch), "Phase2Duration": whole(c.Rest),
		"Phase3Duration": whole(c.Match + c.Plan), "Phase4Duration": whole(c.Act),
	} {
		ad.SetInt(prefix+name+suffix, n)
	}
	rate := func(d time.Duration) float64 {
		if d <= 0 {
			return 0
		}
		return float64(c.Started) / d.Seconds()
	}
	for name, x := range map[string]float64{
		"CpuTime": c.CPU.Seconds(), "PrefetchCpuTime": 0, "Phase1CpuTime": c.FetchCPU.Seconds(),
		"Phase2CpuTime": c.RestCPU.Seconds(), "Phase3CpuTime": c.PlanCPU.Seconds(), "Phase4CpuTime": c.ActCPU.Seconds(),
		"MatchRate": rate(c.Act), "MatchRateSustained": rate(took),
		"FetchTime": c.Fetch.Seconds(), "MatchTime": c.Match.Seconds(), "PlanTime": c.Plan.Seconds(),
		"ActTime": c.Act.Seconds(), "PublishTime": c.Publish.Seconds(), "RestTime": c.Rest.Seconds(),
	} {
		ad.SetReal(prefix+name+suffix, x)
	}
	for _, name := range []string{
		"ScheddsOutOfTime", "SubmittersFailed", "SubmittersOutOfTime", "SubmittersShareLimit",
	} {
		ad.SetString(prefix+name+suffix, "")
	}
}

// camel makes a part of an attribute's name of words: "slot lost" becomes SlotLost.
func camel(words string) string {
	var name strings.Builder
	noLetter := func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }
	for word := range strings.FieldsFuncSeq(words, noLetter) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// version returns the version of the module that this executable was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
