package negotiator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// A job may ask for a kind of GPU: RequireGPUs = Capability >= 8.0, of which its slot must have RequestGPUs.
// A slot lists those that are free (AvailableGPUs), and describes each (GPUs_5d8f = [ Capability = 8.0; … ]).
// Where a slot has several kinds, of which a job does not accept all, the kinds that it accepts are a
// resource of their own, beside all GPUs: "gpus with Capability >= 8.0". A job takes of each such resource
// that has all that it accepts, and of all GPUs. So jobs have room as long as their GPUs can be dealt out
// so that each gets what it accepts.

// mostKinds bounds how many resources kinds of devices add, and shortKind how long the text is in the name
// of one.
const (
	mostKinds = 24
	shortKind = 40
)

// ofKind stands in the name of a resource between that of all devices and the kind.
const ofKind = " with "

// IsKind reports whether a resource is a part of another one: of one kind only.
func IsKind(resource string) bool { return strings.Contains(resource, ofKind) }

// PlanKinds adds the kinds of devices for which jobs ask to a schema, to slots that were read by it, and to
// the jobs. It returns the slots, copied if it changes them, and what it could not heed, as a text; "": all.
func PlanKinds(schema *Schema, slots []*Slot, jobs []*Job) (changed []*Slot, unheeded []string) {
	for i, resource := range schema.Resources {
		k := kinds{schema: schema, resource: resource, index: i}
		if k.ask(jobs); len(k.asked) == 0 {
			continue
		}
		slots = k.see(slots)
		k.accept()
		k.join()
		slots = k.add(slots)
		k.request()
		unheeded = append(unheeded, k.unheeded()...)
	}
	return slots, unheeded
}

// kinds are those of one resource's devices.
type kinds struct {
	schema   *Schema
	resource string
	index    int
	asked    []*asked
	classes  []*devices
	found    map[*Slot]*devices // nil: the slot does not say
	untold   int                // slots that have devices and do not describe them
	all      []*kind
	tooMany  bool
}

// asked is what some jobs require of devices.
type asked struct {
	e         *classad.Expr
	jobs      []*Job
	unmatched bool // a job does not see to it in its Requirements
	accepts   set
}

// devices are those of slots that have the same ones.
type devices struct {
	ad    *classad.ClassAd // of one of the slots
	names []string
	first int // the number of the first, of all classes' devices
}

// set has a byte for each device of all classes: 1, or 0 if it is not in it.
type set string

// kind is a set of devices that are planned with.
type kind struct {
	set
	text string
	name string // of its resource; "": it needs none
}

func (s set) count() int64 { return int64(strings.Count(string(s), "1")) }

// within reports whether all of the set is in another one.
func (s set) within(o set) bool {
	for i := range s {
		if s[i] == '1' && o[i] != '1' {
			return false
		}
	}
	return true
}

// meets reports whether two sets have a device in common.
func (s set) meets(o set) bool {
	for i := range s {
		if s[i] == '1' && o[i] == '1' {
			return true
		}
	}
	return false
}

// with returns the set with all of another one.
func (s set) with(o set) set {
	sum := []byte(s)
	for i := range o {
		sum[i] = max(sum[i], o[i])
	}
	return set(sum)
}

// on returns the part of the set that is of one class.
func (s set) on(d *devices) set { return s[d.first : d.first+len(d.names)] }

// ask finds out what jobs require.
func (k *kinds) ask(jobs []*Job) {
	attr, known := RequireDevices(k.resource), map[string]*asked{}
	for _, j := range jobs {
		e, has := j.Ad.Lookup(attr)
		if !has || e.Tree() == nil {
			continue
		}
		amount, _, err := whole(j.Ad, "Request"+Attribute(k.resource), 0, backfill.MaxAmount)
		if !RequestsBySlot(j.Ad, []string{k.resource}) && (err != nil || amount == 0) {
			continue
		}
		internal, _, _ := e.Refs(j.Ad)
		parts := []string{e.String()}
		for _, name := range internal {
			own, _ := j.Ad.Lookup(name)
			parts = append(parts, name, own.String())
		}
		key := strings.Join(parts, "\x00")
		a := known[key]
		if a == nil {
			a = &asked{e: e}
			known[key], k.asked = a, append(k.asked, a)
		}
		a.jobs = append(a.jobs, j)
		if !a.unmatched {
			a.unmatched = !k.matched(j.Ad)
		}
	}
}

// matched reports whether a job's Requirements look at the devices of the slot.
func (k *kinds) matched(ad *classad.ClassAd) bool {
	e, has := ad.Lookup("Requirements")
	if !has {
		return false
	}
	_, external, _ := e.Refs(ad)
	return slices.ContainsFunc(external, func(name string) bool { return strings.EqualFold(name, k.available()) })
}

func (k *kinds) available() string { return "Available" + Attribute(k.resource) }

// see finds the devices of each slot. Slots list all of them as available in what it returns.
func (k *kinds) see(slots []*Slot) []*Slot {
	k.found = map[*Slot]*devices{}
	known, seen, next := map[string]*devices{}, make([]*Slot, len(slots)), 0
	for i, slot := range slots {
		seen[i] = slot
		if slot.Capacity[k.index] == 0 {
			continue
		}
		names, listed := k.devicesOf(slot)
		if names == nil {
			k.untold++
			continue
		}
		if !listed {
			one := *slot
			one.Ad = slot.Ad.Clone()
			_ = one.Ad.SetExpr(k.available(), "{"+strings.Join(names, ",")+"}") // names of that form can be read
			seen[i] = &one
		}
		key := kindsText(slot.Ad, names)
		d := known[key]
		if d == nil {
			d = &devices{ad: slot.Ad, names: names, first: next}
			next += len(names)
			known[key], k.classes = d, append(k.classes, d)
		}
		k.found[seen[i]] = d
	}
	return seen
}

// devicesOf returns the names of the attributes that describe a slot's devices; nil if not all are
// described. listed says that the ad lists them all as available: otherwise some are in use.
func (k *kinds) devicesOf(slot *Slot) (names []string, listed bool) {
	add := func(name string) {
		isName := func(other string) bool { return strings.EqualFold(other, name) }
		e, described := slot.Ad.Lookup(name)
		if !described || slices.ContainsFunc(names, isName) {
			return
		}
		if _, isAd := e.Tree().(*ast.Record); isAd {
			names = append(names, name)
		}
	}
	if e, has := slot.Ad.Lookup(k.available()); has {
		if list, isList := e.Tree().(*ast.List); isList {
			for _, elem := range list.Elems {
				if one, isAttr := ast.Bare(elem).(*ast.Attr); isAttr {
					add(one.Name)
				}
			}
		}
	}
	want := int(min(slot.Capacity[k.index], 1<<16))
	if len(names) == want {
		return names, true
	}
	prefix := strings.ToLower(k.resource) + "_"
	offline := Devices(slot.Ad, "Offline", Attribute(k.resource))
	for name := range slot.Ad.All() {
		isName := func(other string) bool { return strings.EqualFold(other, name) }
		if strings.HasPrefix(strings.ToLower(name), prefix) && !slices.ContainsFunc(offline, isName) {
			add(name)
		}
	}
	if len(names) != want {
		return nil, false
	}
	return names, false
}

// kindsText returns a text that is the same for slots whose devices have the same properties.
func kindsText(ad *classad.ClassAd, names []string) string {
	var text strings.Builder
	for _, name := range names {
		e, _ := ad.Lookup(name)
		properties, ok := e.Eval(classad.Scope{MaxSteps: classad.FewSteps}).Ad()
		if !ok {
			text.WriteString(e.String() + "\n")
			continue
		}
		text.WriteString(DeviceKind(properties) + "\x00")
	}
	return text.String()
}

// accept finds out which devices the jobs accept.
func (k *kinds) accept() {
	attr := RequireDevices(k.resource)
	for _, a := range k.asked {
		var accepts []byte
		for _, d := range k.classes {
			for _, name := range d.names {
				fits := byte('0')
				if acceptsDevice(a.jobs[0].Ad, attr, d.ad, name, classad.FewSteps) {
					fits = '1'
				}
				accepts = append(accepts, fits)
			}
		}
		a.accepts = set(accepts)
	}
}

// join lists the kinds that need a resource of their own: those of which a slot has some devices and not
// all, and all that several such kinds that overlap have together.
func (k *kinds) join() {
	for _, a := range k.asked {
		if k.divides(a.accepts, a.unmatched) && !k.has(a.accepts) {
			k.all = append(k.all, &kind{set: a.accepts, text: a.e.String()})
		}
	}
	for i := 0; i < len(k.all); i++ {
		for j := 0; j < i; j++ {
			a, b := k.all[i], k.all[j]
			both := a.with(b.set)
			if a.meets(b.set) && !k.has(both) {
				k.all = append(k.all, &kind{set: both, text: "(" + a.text + ") || (" + b.text + ")"})
			}
		}
		if len(k.all) > mostKinds {
			k.all, k.tooMany = k.all[:mostKinds], true
			return
		}
	}
}

// divides reports whether a slot has some of a set's devices and not all; or none, if nothing else sees to it
// that its jobs do not use that slot.
func (k *kinds) divides(s set, unmatched bool) bool {
	return slices.ContainsFunc(k.classes, func(d *devices) bool {
		n := s.on(d).count()
		return n < int64(len(d.names)) && (n > 0 || unmatched)
	})
}

func (k *kinds) has(s set) bool {
	return slices.ContainsFunc(k.all, func(o *kind) bool { return o.set == s })
}

// add makes resources of the kinds, and says how much of each the slots have.
func (k *kinds) add(slots []*Slot) []*Slot {
	if len(k.all) == 0 {
		return slots
	}
	added := make([]*Slot, len(slots))
	for i, slot := range slots {
		one := *slot
		added[i] = &one
	}
	for n, kind := range k.all {
		kind.name = k.resource + ofKind + kind.text
		if len(kind.text) > shortKind || slices.Contains(k.schema.Resources, kind.name) {
			kind.name = fmt.Sprintf("%s%skind %d", k.resource, ofKind, n+1)
		}
		k.schema.Resources = append(slices.Clone(k.schema.Resources), kind.name)
		for i, slot := range slots {
			amount := slot.Capacity[k.index] // as it does not say, no more is known
			if d := k.found[slot]; d != nil {
				amount = kind.on(d).count()
			}
			added[i].give(kind.name, amount)
		}
	}
	return added
}

// request has the jobs ask for the kinds.
func (k *kinds) request() {
	made := map[*classad.ClassAd]*classad.ClassAd{}
	for _, a := range k.asked {
		for _, j := range a.jobs {
			if known := made[j.Ad]; known != nil {
				j.Ad = known
				continue
			}
			amount, _ := j.Ad.Lookup("Request" + Attribute(k.resource)) // which may depend on the slot
			ad := j.Ad
			for _, kind := range k.all {
				if a.accepts.within(kind.set) {
					if ad == j.Ad {
						ad = ad.Clone()
					}
					ad.Set("Request"+Attribute(kind.name), amount)
				}
			}
			made[j.Ad], made[ad] = ad, ad
			j.Ad = ad
		}
	}
}

// unheeded says what was asked and is not planned with.
func (k *kinds) unheeded() (list []string) {
	jobs := 0
	for _, a := range k.asked {
		jobs += len(a.jobs)
	}
	tag := Attribute(k.resource)
	if k.untold > 0 {
		list = append(list, fmt.Sprintf("kinds of %s are not planned with on %d slots, whose ads do not describe all of them "+
			"(Available%s, %s_…): %d jobs ask for a kind (Require%s)", tag, k.untold, tag, tag, jobs, tag))
	}
	if k.tooMany {
		list = append(list, fmt.Sprintf("jobs ask for very many kinds of %s (Require%s): only %d sets of them are planned with",
			tag, tag, mostKinds))
	}
	return list
}
