package matchmaker

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Some jobs request what depends on the slot: all of its cpus (TARGET.Cpus), or a share of its memory. That
// is evaluated with each class of slots, as if all of the slot were free, as Requirements are. A plan has
// one request for all candidates of a job. So there are three cases:
//
//   - It is the same on all candidates.
//   - It differs, but on each candidate nobody else can run beside the job: it takes all cpus there, or the
//     slot is static. Then it takes all of [Claims] or, where these differ, of [Parts], and of the rest what
//     it takes on all of them.
//   - Else no plan can have it, and its jobs have no candidates.
//
// With bundles no plan can have it either, as slots are not looked at one by one.

// Refused is the attribute of a job that no plan can have, for what it says: "its RequestCpus depends on …".
const Refused = "BackfillRefused"

// measured is what is known of the requests of an autocluster's jobs.
type measured struct {
	depends bool                    // they may depend on the slot
	asked   map[int]backfill.Vector // by class: what each chunk requests there
	unlike  string                  // why no plan can have that; "": one can
	misfit  string                  // why it is no amount on some slot, or too much; ""
}

// whyNot says that the jobs of an autocluster match no slot, as it begins with none, if that is all that can
// be said, or lies in what they request.
func (m *Matchmaker) whyNot(id int, none string) string {
	switch c := m.clusters[id]; {
	case c.unlike != "":
		return c.unlike
	case c.misfit != "":
		return none + ": " + c.misfit
	case m.explaining <= 0:
		return none
	default:
		return ""
	}
}

// RequestsBySlot reports whether what a job requests of these resources, or of some of them, may depend on
// the slot: its expressions refer to what the job itself has not, and does not get as it runs.
func RequestsBySlot(ad *classad.ClassAd, resources []string) bool {
	return slices.ContainsFunc(resources, func(name string) bool {
		e, given := ad.Lookup("Request" + name)
		return given && !IsCount(name) && bySlot(ad, e)
	})
}

// AsksSlot returns the attributes of a job that what it requests of a resource is made of, the request first,
// if one of them asks what TARGET has, or names what the job has not and slots have; else nil. Other names that
// the job has not may be such that whoever printed its ad left out.
func AsksSlot(ad *classad.ClassAd, resource string, slotsHave func(name string) bool) []string {
	if !RequestsBySlot(ad, []string{resource}) {
		return nil
	}
	e, _ := ad.Lookup("Request" + resource)
	internal, external, _ := e.Refs(ad)
	all := append([]string{"Request" + resource}, internal...)
	ofSlot := func(name string) bool { return !ofUse[strings.ToLower(name)] && slotsHave(name) }
	if slices.ContainsFunc(external, ofSlot) || slices.ContainsFunc(all, func(name string) bool {
		e, has := ad.Lookup(name)
		return has && strings.Contains(strings.ToLower(e.String()), "target.")
	}) {
		return all
	}
	return nil
}

// bySlot reports whether the value of a job's expression may depend on the slot.
func bySlot(ad *classad.ClassAd, e *classad.Expr) bool {
	if _, plain := e.Tree().(*ast.Literal); plain {
		return false
	}
	_, external, err := e.Refs(ad)
	used := func(name string) bool { return ofUse[strings.ToLower(name)] }
	return err == nil && (!every(external, used) || calls(e.Tree(), "eval"))
}

// ofUse are attributes of a job that it has not before it runs, in lower case.
var ofUse = namesOf("memoryusage diskusage imagesize residentsetsize")

// every reports whether all names are such.
func every(names []string, such func(string) bool) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !such(name) })
}

// calls reports whether an expression calls a function.
func calls(e ast.Expr, key string) bool {
	if call, ok := e.(*ast.Call); ok && call.Key == key {
		return true
	}
	return slices.ContainsFunc(ast.Children(e), func(child ast.Expr) bool { return calls(child, key) })
}

// requestOn returns what each chunk of a job requests on an offer, as if all of that were free; nil and why
// if that is no amount, or more than there is.
func (t *trial) requestOn(o offer, job *classad.ClassAd) (v backfill.Vector, why string) {
	scope := classad.Scope{My: job, Target: o.ad, Host: t.supplier(), MaxSteps: t.limit, Meter: &t.meter}
	return RequestIn(scope, o.m.resources, func(resource int) int64 { return o.m.whole(o.ad, resource) })
}

// RequestIn returns what each chunk of a job, which is MY in a scope, requests of the slot that is TARGET there
// and has so much of each resource; nil and why if that is no amount, or more than there is.
func RequestIn(in classad.Scope, resources []string, has func(resource int) int64) (v backfill.Vector, why string) {
	v = make(backfill.Vector, len(resources))
	for i, name := range resources {
		if i == 0 || IsCount(name) {
			v[i] = 1
		}
		value := in.Attr("Request" + name)
		n, isNumber := value.Number()
		switch whole := has(i); {
		case value.Kind() == classad.Undefined:
		case !isNumber || !(n >= 0):
			return nil, fmt.Sprintf("its %s is %.60s there", requestOf(name), value)
		case n > float64(whole):
			return nil, fmt.Sprintf("its %s is %.60s there, of %d", requestOf(name), value, whole)
		default:
			v[i] = int64(math.Ceil(n))
		}
	}
	if v.Zero() {
		return nil, "it asks for nothing there"
	}
	return v, ""
}

// requestOf returns the attribute of a job by which it requests a resource: RequestCpus for cpus.
func requestOf(resource string) string {
	return "Request" + strings.ToUpper(resource[:1]) + resource[1:]
}

// keepRequest notes what the autocluster's jobs request on the offers of a class, which they match. They do
// not, if that is no amount or more than there is.
func (s *search) keepRequest(o offer, class int, found verdict) verdict {
	if !s.c.depends || found == refused {
		return found
	}
	v, why := s.requestOn(o, s.c.ad)
	if v == nil {
		s.c.misfit = why
		return refused
	}
	if s.c.asked == nil {
		s.c.asked = map[int]backfill.Vector{}
	}
	s.c.asked[class] = v
	return found
}

// settle finds what the autocluster's jobs request on all candidates that were found, and returns these;
// none, and notes why, if no plan can have that.
func (s *search) settle(found backfill.Candidates) backfill.Candidates {
	c := s.c
	if c.unlike, _ = c.ad.Literal(Refused).Text(); c.unlike == "" {
		c.unlike = s.m.unlikeInBundles(c.ad)
	}
	if c.unlike != "" {
		return backfill.Candidates{}
	}
	if !c.depends || len(found.Slots) == 0 {
		return found
	}
	n := map[int]int{} // by class
	for _, id := range found.Slots {
		n[c.view.ofSlot[id]]++
	}
	var all []wanted
	for _, id := range found.Slots {
		class := c.view.ofSlot[id]
		if n[class] > 0 {
			all = append(all, wanted{s.m.slots[id].ad, c.asked[class], n[class]})
			delete(n, class)
		}
	}
	request := s.m.inCommon(all)
	if request == nil {
		c.unlike = s.m.unlike(all)
		return backfill.Candidates{}
	}
	if !slices.Equal(request, c.Request) {
		c.Request, s.m.remeasured = request, append(s.m.remeasured, c.ID)
	}
	return found
}

// unlikeInBundles says which request of a job depends on the slot, if there are bundles: a plan of these has
// what the job's ad alone tells; "": none.
func (m *Matchmaker) unlikeInBundles(ad *classad.ClassAd) string {
	if len(m.bundles) == 0 || !RequestsBySlot(ad, m.resources) {
		return ""
	}
	k := slices.IndexFunc(m.resources, func(name string) bool { return RequestsBySlot(ad, []string{name}) })
	return fmt.Sprintf("its %s depends on the slot, but a partitioned machine is planned with numbers: write one",
		requestOf(m.resources[k]))
}

// wanted is what each chunk of a job requests on the slots of a class.
type wanted struct {
	slot    *classad.ClassAd
	request backfill.Vector
	slots   int
}

// inCommon returns the request with which a plan may have a job on all of these slots; nil: there is none.
func (m *Matchmaker) inCommon(all []wanted) backfill.Vector {
	same := func(w wanted) bool { return slices.Equal(w.request, all[0].request) }
	if !slices.ContainsFunc(all, func(w wanted) bool { return !same(w) }) {
		return all[0].request
	}
	count, counted := m.countOfWhole()
	if !counted {
		return nil
	}
	most, least := m.whole(all[0].slot, count), slices.Clone(all[0].request)
	for _, w := range all {
		alone := m.whole(w.slot, m.amounts[Claims]) == 1 || w.request[0] == m.whole(w.slot, 0)
		if !alone || m.whole(w.slot, count) != most {
			return nil
		}
		for i, n := range w.request {
			least[i] = min(least[i], n)
		}
	}
	least[count] = most
	return least
}

// countOfWhole returns the resource of which a job takes all that takes all of its slots; false if there is none.
func (m *Matchmaker) countOfWhole() (resource int, counted bool) {
	if resource, counted = m.amounts[Parts]; counted {
		return resource, true
	}
	resource, counted = m.amounts[Claims]
	return resource, counted
}

// requestsAlike reports whether jobs of a kind may have the request that they are planned with on further
// slots, too.
func (s *search) requestsAlike(o offer, kind *jobKind) bool {
	v, _ := s.requestOn(o, kind.ad)
	if v == nil {
		return false
	}
	count, counted := s.m.countOfWhole()
	alone := counted && kind.request[count] == s.m.whole(o.ad, count) && v[0] == s.m.whole(o.ad, 0)
	return slices.Equal(v, kind.request) || alone
}

// mostUnlike is how many amounts of a resource are told.
const mostUnlike = 3

// unlike says what a job requests on these slots, of the first resource of which that differs.
func (m *Matchmaker) unlike(all []wanted) string {
	for i, name := range m.resources {
		var amounts []int64
		slots := map[int64]int{}
		for _, w := range all {
			if slots[w.request[i]] == 0 {
				amounts = append(amounts, w.request[i])
			}
			slots[w.request[i]] += w.slots
		}
		if len(amounts) == 1 {
			continue
		}
		slices.Sort(amounts)
		var parts []string
		for k, n := range amounts {
			if k == mostUnlike {
				parts = append(parts, fmt.Sprintf("and %d more", len(amounts)-k))
				break
			}
			parts = append(parts, fmt.Sprintf("%d on %d", n, slots[n]))
		}
		return fmt.Sprintf("its %s depends on the slot (%s), and it does not take all cpus of each: a plan has one request "+
			"for all slots of a job, so write a number, or Requirements that only slots of one size meet",
			requestOf(name), strings.Join(parts, ", "))
	}
	return ""
}

// Remeasured returns the autoclusters whose jobs request anything else since the last Match, and what each
// of their chunks does. It is valid until the next Match.
func (m *Matchmaker) Remeasured() (all []Autocluster) {
	for _, id := range m.remeasured {
		all = append(all, m.clusters[id].Autocluster)
	}
	return all
}
