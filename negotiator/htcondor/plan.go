package htcondor

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// plan is what jobs are planned with that differ in nothing that matters; shared
// by all of them.
type plan struct {
	text            string
	ad              *classad.ClassAd
	nodes           int
	weight          float64
	estimate, limit backfill.Time
	labels          map[string]string
	user, account   string // User and AccountingGroup
	limits          string // ConcurrencyLimits
	limited         []accountant.Limit
	parallel        bool
	wrong           error // why such a job cannot be planned with
}

// maxPlans bounds the plans that are remembered.
const maxPlans = 100_000

// What the negotiator plans with at most: nodes of a job, and of a resource all of them
// together.
const (
	maxNodes  = 1 << 20
	maxAmount = 1_000_000_000_000_000
)

// parallelUniverse is the universe of gangs.
const parallelUniverse = 11

// planOf finds or makes the plan of a job's ad in a schedd's queue, from which the passing attributes
// are taken. It reports whether the ad refers to attributes that were not asked for.
func (p *Pool) planOf(ad *classad.ClassAd, schedd string) (_ *plan, grew bool) {
	var passed []string
	for name := range ad.All() {
		if !p.jobAttributes.kept(name) {
			passed = append(passed, name)
		}
	}
	for _, name := range passed {
		ad.Delete(name)
	}
	ad.SetString(scheddAttribute, schedd)
	text := ad.Format(ast.Long)
	if known := p.plans[text]; known != nil {
		return known, false
	}
	others := map[string]bool{}
	for _, e := range ad.All() {
		_, external, _ := e.Refs(ad) // what is in a circle is error
		for _, name := range external {
			others[strings.ToLower(name)] = true
		}
	}
	if len(others) <= maxOfOne {
		names := slices.Sorted(maps.Keys(others))
		grew = p.slotAttributes.refer(names)
		grew = p.jobAttributes.refer(names) || grew
	}
	if len(p.plans) >= maxPlans {
		p.plans = map[string]*plan{}
	}
	made := p.makePlan(ad)
	if len(others) > maxOfOne {
		made.wrong = fmt.Errorf("it refers to %d attributes of slots: must be at most %d", len(others), maxOfOne)
	}
	p.plans[text] = made
	return made, grew
}

func (p *Pool) makePlan(ad *classad.ClassAd) *plan {
	made := &plan{ad: ad, nodes: 1, labels: p.s.Schema.LabelsOf(ad)}
	made.user, _ = ad.Text("User")
	made.account, _ = ad.Text("AccountingGroup")
	made.limits, _ = ad.Text("ConcurrencyLimits")
	made.limited = accountant.ParseLimits(made.limits)
	universe, _ := ad.Int("JobUniverse")
	if made.parallel = universe == parallelUniverse; made.parallel {
		nodes, _ := ad.Int("MaxHosts")
		if nodes < 1 || nodes > maxNodes {
			made.wrong = fmt.Errorf("MaxHosts is %v: must be a whole number from 1 to %d", ad.Eval("MaxHosts", nil), maxNodes)
		}
		made.nodes = int(max(1, min(nodes, maxNodes)))
	}
	made.estimate, made.limit = seconds(ad, p.s.Schema.Estimates), seconds(ad, p.s.Schema.Limits)
	asked, err := p.asked(ad)
	if err != nil {
		made.wrong = err
		made.text = ad.Format(ast.Long)
		return made
	}
	taken := p.taken(ad, asked)
	for i, resource := range p.s.Schema.Resources {
		if most := maxAmount / int64(made.nodes); taken[i] > most {
			made.wrong = errors.Join(made.wrong, fmt.Errorf("it would take %d %s on each of %d nodes: must be at most %d", taken[i], resource, made.nodes, most))
		}
		ad.SetInt("Request"+attribute(resource), taken[i])
	}
	made.weight = float64(taken[0]) * float64(made.nodes)
	made.text = ad.Format(ast.Long)
	return made
}

func attribute(resource string) string {
	return strings.ToUpper(resource[:1]) + resource[1:]
}

// asked is what each chunk of a job asks for: one cpu, and nothing of anything
// else, where it does not say.
func (p *Pool) asked(ad *classad.ClassAd) (backfill.Vector, error) {
	const most = 1_000_000_000_000
	asked := make(backfill.Vector, len(p.s.Schema.Resources))
	var wrong []error
	for i, resource := range p.s.Schema.Resources {
		v := ad.Eval("Request"+resource, nil)
		n, isNumber := v.Number()
		switch {
		case resource == Claims:
			asked[i] = 1
		case v.Kind() == classad.Undefined && i == 0:
			asked[i] = 1
		case v.Kind() == classad.Undefined:
		case !isNumber || math.IsNaN(n) || n < 0 || n > most:
			wrong = append(wrong, fmt.Errorf("its Request%s is %v: must be a number from 0 to %d", attribute(resource), v, int64(most)))
		default:
			asked[i] = ceil(n)
		}
	}
	return asked, errors.Join(wrong...)
}

// seconds is the first of the attributes that is a number above 0; 0: none is.
func seconds(ad *classad.ClassAd, attributes []string) backfill.Time {
	const most = 1 << 39 // the negotiator adds its slack, up to twice that
	for _, name := range attributes {
		if n, ok := ad.Eval(name, nil).Number(); ok && n > 0 {
			return backfill.Time(ceil(min(n, most)))
		}
	}
	return 0
}

// submitter is in whose name the job is negotiated for.
func (made *plan) submitter() string {
	if made.account == "" {
		return made.user
	}
	_, domain, _ := strings.Cut(made.user, "@")
	return made.account + "@" + domain
}
