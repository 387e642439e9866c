package observe

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// scavengerAttribute is the attribute by which a job says that it is a scavenger: it runs on what is
// idle, and makes way at once for any other job.
const scavengerAttribute = "BackfillScavenger"

// niceUser begins the accounting group that condor_submit gives to jobs with nice_user = true, from 9.0 on.
const niceUser = "nice-user"

// Retirement is for how long a slot lets a job run on before it makes way, and a job wants that: the lesser
// counts.
const Retirement = "MaxJobRetirementTime"

// How long a slot's startd and a job give the job for leaving.
const (
	machineVacate = "MachineMaxVacateTime"
	jobVacate     = "JobMaxVacateTime"
)

// ofScavengers are the job attributes that say whether a job is a scavenger, and how it leaves.
var ofScavengers = []string{scavengerAttribute, "NiceUser", Retirement, jobVacate}

// scavengers are the users and submitters whose jobs are scavengers, as [config.Scavenging] names them.
type scavengers struct {
	scope config.Scavenging
	names map[string]bool
}

func newScavengers(s config.Scavenging) scavengers {
	names := map[string]bool{}
	separates := func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }
	for _, name := range strings.FieldsFunc(s.Scavengers, separates) {
		names[foldName(name)] = true
	}
	return scavengers{s, names}
}

// foldName has the groups and the domain of a submitter's name in lower case: HTCondor compares these
// regardless of case, but not users' names.
func foldName(name string) string {
	account, domain, given := strings.Cut(name, "@")
	if i := strings.LastIndexByte(account, '.'); i >= 0 {
		account = strings.ToLower(account[:i]) + account[i:]
	}
	if !given {
		return account
	}
	return account + "@" + strings.ToLower(domain)
}

// has tells whether a user or submitter is named, with or without domain.
func (s *scavengers) has(name string) bool {
	if len(s.names) == 0 {
		return false
	}
	name = foldName(name)
	account, _, _ := strings.Cut(name, "@")
	return s.names[name] || s.names[account]
}

// scavenges tells whether a job is a scavenger: it says so, or its user or submitter is named, or he is
// nice. The names of the Spec must be read.
func (o *Observer) scavenges(s *Spec, ad *classad.ClassAd) bool {
	says := o.value(ad, scavengerAttribute).IsTrue() // as HTCondor reads a number where it wants a boolean
	if says || o.scavengers.has(s.user) || o.scavengers.has(s.submitter) {
		return true
	}
	if !o.scavengers.scope.NiceUsers {
		return false
	}
	return o.value(ad, "NiceUser").IsTrue() || s.account == niceUser || strings.HasPrefix(s.account, niceUser+".")
}

// mayRetire tells whether a scavenger would be let run on for a time where slots allow that.
func (o *Observer) mayRetire(ad *classad.ClassAd) bool {
	n, isNumber := o.value(ad, Retirement).Number()
	return !isNumber || n != 0
}

// retiring is true of slots that let no job retire.
const retiring = "((TARGET." + Retirement + " > 0) =!= true)"

// NoRetirement says what a scavenger's submit file lacks that matches no slot where jobs may retire.
const NoRetirement = "a scavenger makes way at once: max_job_retirement_time = 0 in its submit file lets it use slots " +
	"on which others may retire (MAXJOBRETIREMENTTIME)"

// makeWayAtOnce has a scavenger match only slots where it leaves when it is told to: it is not started
// where it may retire.
func (o *Observer) makeWayAtOnce(ad *classad.ClassAd) error {
	line := []byte("Requirements = " + retiring)
	if e, given := ad.Lookup("Requirements"); given {
		line = append(ast.Append([]byte("Requirements = ("), e.Tree(), ast.Long), ") && "+retiring...)
	}
	changed, err := o.parser.ParseOld(string(line)) // jobs with the same Requirements share the new ones, too
	if err == nil {
		e, _ := changed.Lookup("Requirements")
		ad.Set("Requirements", e)
	}
	return err
}

// readScavenger finds out whether a job is a scavenger, and where it may run then. It returns the
// attributes of slots that are needed for that.
func (o *Observer) readScavenger(s *Spec, ad *classad.ClassAd) (refers []string, grew bool, err error) {
	s.Scavenger = o.scavenges(s, ad)
	if !s.Scavenger {
		return nil, false, nil
	}
	if !o.claiming.scavengers {
		o.claiming.scavengers, grew = true, true
		o.preempt(o.claiming.scope)
	}
	if n, isNumber := o.value(ad, jobVacate).Number(); isNumber && n >= 0 {
		s.Vacate = new(min(n, longestVacate))
	}
	if !o.mayRetire(ad) {
		return nil, grew, nil
	}
	s.mayRetire = true
	return []string{Retirement}, grew, o.makeWayAtOnce(ad)
}

// longestVacate bounds what a job can say of the time for leaving, in seconds.
const longestVacate = 7 * 24 * 3600

// forgetScavengers notes if there are no scavengers any more, so that slots are asked for less.
func (o *Observer) forgetScavengers() {
	if !o.claiming.scavengers {
		return
	}
	for _, s := range o.schedds {
		for _, g := range s.Groups {
			if g.Spec.Scavenger {
				return
			}
		}
	}
	o.claiming.scavengers = false
	o.preempt(o.claiming.scope)
}

// MayRetire tells whether the job is a scavenger that matches only slots on which nobody may retire.
func (s *Spec) MayRetire() bool { return s.mayRetire }
