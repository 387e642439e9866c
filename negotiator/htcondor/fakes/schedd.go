package fakes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// Schedd holds a queue and receives matches.
type Schedd struct {
	Daemon
	Name string

	mu          sync.Mutex
	jobs        []*classad.ClassAd
	matches     []Match
	rejections  []Rejection
	headers     []*classad.ClassAd
	released    []string
	taken       func(Match)
	vacated     []string
	unwilling   bool
	rescheduled int
	groups      []*classad.ClassAd
	users       []*classad.ClassAd
	now         int64
	submitted   int64
}

// Match is a slot that the schedd received.
type Match struct {
	Submitter     string
	Cluster, Proc int64
	Claim         string
	Ad            *classad.ClassAd
}

// Rejection is the reason that the schedd received for a job that must wait.
type Rejection struct {
	Submitter     string
	Reason        string
	Cluster, Proc int64
}

// NewSchedd starts a schedd with an empty queue.
func NewSchedd(tb testing.TB, name string) *Schedd {
	tb.Helper()
	s := &Schedd{Name: name}
	s.start(tb, "SCHEDD", map[int]server.Handler{
		516: {Name: "QUERY_JOB_ADS", Serve: s.query},
		6:   {Name: "QUERY_SCHEDD_ADS", Serve: s.own},
		416: {Name: "NEGOTIATE", Serve: s.negotiate},
		540: {Name: "QUERY_USERREC_ADS", Serve: s.records},
		443: {Name: "RELEASE_CLAIM", Serve: s.release},
		478: {Name: "ACT_ON_JOBS", Serve: s.act},
		421: {Name: "RESCHEDULE", Serve: s.reschedule, Proof: security.Unproven},
	})
	return s
}

// SetJobs replaces the queue by these jobs, given as lines.
func (s *Schedd) SetJobs(jobs ...string) {
	s.t.Helper()
	s.SetJobAds(s.parse(jobs)...)
}

// SetJobAds is SetJobs with parsed ads.
func (s *Schedd) SetJobAds(jobs ...*classad.ClassAd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = jobs
}

// SetGroups sets the answer to queries for groups of jobs; without groups they are made from the
// jobs.
func (s *Schedd) SetGroups(groups ...*classad.ClassAd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups = groups
}

// SetTime sets the schedd's clock, as a Unix time. The clock stands still.
func (s *Schedd) SetTime(unix int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = unix
}

// SetSubmitted sets how many jobs were submitted since the schedd started; less than 0: it does not
// say.
func (s *Schedd) SetSubmitted(jobs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.submitted = jobs
}

// Taken sets a function that is called with each match as it arrives.
func (s *Schedd) Taken(taken func(Match)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = taken
}

// Jobs returns the queue.
func (s *Schedd) Jobs() []*classad.ClassAd {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.jobs)
}

// Matches returns all matches so far.
func (s *Schedd) Matches() []Match {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.matches)
}

// Rejections returns all rejections so far.
func (s *Schedd) Rejections() []Rejection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rejections)
}

// Headers returns the ads with which negotiations about submitters have begun so far.
func (s *Schedd) Headers() []*classad.ClassAd {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.headers)
}

// Released returns the claims that were reported to the schedd as ended.
func (s *Schedd) Released() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.released)
}

// Capability makes a session for NEGOTIATE, as in submitter ads. It ends when the schedd stops, or
// at the Unix time expires; 0 means never.
func (s *Schedd) Capability(secret string, expires int64) string {
	s.t.Helper()
	info := `[Integrity="YES";Encryption="YES";CryptoMethods="AES";ValidCommands="416";]`
	if expires > 0 {
		info = strings.Replace(info, "]", fmt.Sprintf("SessionExpires=%d;]", expires), 1)
	}
	text := s.address.String() + "#1#" + secret + "#" + info + secret
	key, err := security.ParseKey(text)
	require.NoError(s.t, err)
	s.guard.Admit(key, security.Peer{User: "negotiator-side@matchsession"})
	return text
}

// SubmitterAd returns the ad of a submitter of this schedd, as lines.
func (s *Schedd) SubmitterAd(submitter, capability string, idle, running int) string {
	lines := fmt.Sprintf("MyType = \"Submitter\"\nName = %q\nScheddName = %q\nScheddIpAddr = %q\nMyAddress = %q\n"+
		"SubmitterTag = \"\"\nIdleJobs = %d\nRunningJobs = %d\n",
		submitter, s.Name, s.Address(), s.Address(), idle, running)
	if capability != "" {
		lines += "Capability = " + quote(capability) + "\n"
	}
	return lines
}

// Ad returns the schedd's own ad, as lines.
func (s *Schedd) Ad() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("MyType = \"Scheduler\"\nName = %q\nMyAddress = %q\nScheddIpAddr = %q\nMyCurrentTime = %d\n",
		s.Name, s.Address(), s.Address(), s.now)
}

// own answers a question for the schedd's own ad.
func (s *Schedd) own(_ context.Context, call *security.Call) error {
	if _, err := server.ReadQuery(call); err != nil {
		return err
	}
	s.mu.Lock()
	submitted := s.submitted
	s.mu.Unlock()
	ad := s.parse([]string{s.Ad()})[0].Clone()
	if submitted >= 0 {
		ad.SetInt("JobsSubmitted", submitted)
	}
	call.PutInt(1)
	call.PutAd(ad)
	call.PutInt(0)
	return call.Send()
}

// quote writes a text as ads have it.
func quote(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"` }

func (s *Schedd) query(_ context.Context, call *security.Call) error {
	q, err := server.ReadQuery(call)
	if err != nil {
		return err
	}
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	var ads []*classad.ClassAd
	grouped, _ := q.Ad.Bool("ProjectionIsGroupBy")
	for _, job := range s.Jobs() {
		seen := job
		if grouped {
			seen = q.Project(job) // the query is about groups, which have no more attributes
		}
		if q.Wants(seen) {
			ads = append(ads, job)
		}
	}
	if grouped {
		ads = group(q, ads)
		s.mu.Lock()
		if len(s.groups) > 0 {
			ads = s.groups
		}
		s.mu.Unlock()
	}
	for _, ad := range ads {
		if !grouped {
			ad = q.Project(ad)
		}
		ad = ad.Clone()
		ad.SetInt("ServerTime", now)
		call.PutAd(ad)
		if err = call.Send(); err != nil {
			return err
		}
	}
	last := classad.New()
	last.SetString("MyType", "Summary")
	last.SetInt("Owner", 0)
	last.SetInt("ErrorCode", 0)
	last.SetInt("ServerTime", now)
	call.PutAd(last)
	return call.Send()
}

// group makes one ad for the jobs that are equal in the queried attributes, and in those of the job
// that these refer to, as schedds do (getClusterid in HTCondor's autocluster.cpp).
func group(q server.Query, jobs []*classad.ClassAd) []*classad.ClassAd {
	var groups []*classad.ClassAd
	at := map[string]int{}
	ids := map[string][]string{}
	for _, job := range jobs {
		cluster, _ := job.Int("ClusterId")
		proc, _ := job.Int("ProcId")
		ad := q.Project(job).Clone()
		expand(ad, job)
		key := ad.Format(classad.Lines)
		if _, known := at[key]; !known {
			at[key] = len(groups)
			groups = append(groups, ad)
		}
		ids[key] = append(ids[key], fmt.Sprintf("%d.%d", cluster, proc))
	}
	for key, i := range at {
		groups[i].SetInt("JobCount", int64(len(ids[key])))
		groups[i].SetString("JobIds", strings.Join(ids[key], " "))
	}
	return groups
}

// expand adds to a part of a job's ad the attributes of the job that the part's expressions refer
// to.
func expand(part, job *classad.ClassAd) {
	var refs []string
	for _, e := range part.All() {
		internal, _, _ := e.Refs(job) // a circular reference evaluates to error
		refs = append(refs, internal...)
	}
	for _, name := range refs {
		if e, ok := job.Lookup(name); ok {
			part.Set(name, e)
		}
	}
}

// negotiate serves a negotiation: headers, and the messages under each.
func (s *Schedd) negotiate(_ context.Context, call *security.Call) error {
	for {
		header, err := call.Ad()
		if err == nil {
			err = call.End()
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.headers = append(s.headers, header)
		s.mu.Unlock()
		submitter, _ := header.Text("Owner")
		again, err := s.converse(call, submitter)
		if err != nil || !again {
			return err
		}
	}
}

// converse serves the messages about one submitter; again is true if another header follows.
func (s *Schedd) converse(call *security.Call, submitter string) (again bool, err error) {
	sent := 0
	for {
		command, err := call.Int()
		if hungUp(err) {
			return false, nil
		}
		switch {
		case err != nil:
		case command == 416:
			return true, nil // the header is in the same message
		case command == 518:
			sent, err = s.requests(call, submitter, sent)
		case command == 472:
			err = s.match(call, submitter)
		case command == 476:
			err = s.reject(call, submitter)
		case command == 425:
			err = call.End()
		default:
			err = fmt.Errorf("a schedd does not know %d in a negotiation", command)
		}
		if err != nil {
			return false, err
		}
	}
}

// requests answers the negotiator's demand for a number of requests with the submitter's next idle
// jobs, one by one. The parameter sent is how many it has sent before; it returns the new number.
func (s *Schedd) requests(call *security.Call, submitter string, sent int) (int, error) {
	n, err := call.IntIn("a number of requests", 1, 1<<20)
	if err == nil {
		err = call.End()
	}
	if err != nil {
		return sent, err
	}
	var idle []*classad.ClassAd
	for _, job := range s.Jobs() {
		user, _ := job.Text("User")
		if status, _ := job.Int("JobStatus"); status == 1 && user == submitter {
			idle = append(idle, job)
		}
	}
	for ; n > 0 && sent < len(idle); n-- {
		call.PutInt(419)
		call.PutAd(idle[sent])
		if err = call.Send(); err != nil {
			return sent, err
		}
		sent++
	}
	if n > 0 {
		call.PutInt(418)
		err = call.Send()
	}
	return sent, err
}

func (s *Schedd) match(call *security.Call, submitter string) error {
	claim, err := call.Text()
	if err != nil {
		return err
	}
	ad, err := call.Ad()
	if err == nil {
		err = call.End()
	}
	if err != nil {
		return err
	}
	m := Match{Submitter: submitter, Claim: claim, Ad: ad}
	m.Cluster, _ = ad.Int("_condor_RESOURCE_CLUSTER")
	m.Proc, _ = ad.Int("_condor_RESOURCE_PROC")
	s.mu.Lock()
	s.matches = append(s.matches, m)
	taken := s.taken
	s.mu.Unlock()
	if taken != nil {
		taken(m)
	}
	return nil
}

func (s *Schedd) reject(call *security.Call, submitter string) error {
	text, err := call.Text()
	if err == nil {
		err = call.End()
	}
	if err != nil {
		return err
	}
	r := Rejection{Submitter: submitter}
	parts := strings.Split(text, "|")
	if len(parts) != 4 {
		return fmt.Errorf("a rejection %q: must have three |", text)
	}
	r.Reason = strings.TrimSuffix(parts[0], " ")
	if _, err = fmt.Sscanf(parts[2], "%d.%d", &r.Cluster, &r.Proc); err != nil {
		return fmt.Errorf("a rejection of job %q: %w", parts[2], err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejections = append(s.rejections, r)
	return nil
}

func (s *Schedd) release(_ context.Context, call *security.Call) error {
	claim, err := call.Text()
	if err == nil {
		err = call.End()
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = append(s.released, claim)
	return nil
}
